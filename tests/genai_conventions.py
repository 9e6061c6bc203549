"""What the GenAI conventions ask of a span, by the package that is made from their model files."""

from __future__ import annotations

from typing import Any

from opentelemetry.semconv._incubating.attributes import error_attributes, gen_ai_attributes

NAMES = {
    value
    for module in (gen_ai_attributes, error_attributes)
    for name, value in vars(module).items()
    if name.isupper() and isinstance(value, str)
}
OPERATIONS = {one.value for one in gen_ai_attributes.GenAiOperationNameValues}
PROVIDERS = {one.value for one in gen_ai_attributes.GenAiProviderNameValues}

# The attributes of requirement level `required` in the conventions' model/gen-ai/spans.yaml, 1.37 to 1.41; the package
# has names and values, and no levels.
_OF_A_MODEL = (gen_ai_attributes.GEN_AI_OPERATION_NAME, gen_ai_attributes.GEN_AI_PROVIDER_NAME)
REQUIRED = {
    gen_ai_attributes.GenAiOperationNameValues.CHAT.value: _OF_A_MODEL,
    gen_ai_attributes.GenAiOperationNameValues.INVOKE_AGENT.value: _OF_A_MODEL,
    gen_ai_attributes.GenAiOperationNameValues.EXECUTE_TOOL.value: (
        gen_ai_attributes.GEN_AI_OPERATION_NAME,
        gen_ai_attributes.GEN_AI_TOOL_NAME,
    ),
}


def missing(attributes: dict[str, Any]) -> list[str]:
    """What a span lacks, and what it says that the conventions do not know."""
    operation = attributes.get(gen_ai_attributes.GEN_AI_OPERATION_NAME)
    lacking = [name for name in REQUIRED.get(operation, ("a known operation",)) if not attributes.get(name)]
    unknown = [name for name in attributes if name.startswith(("gen_ai.", "error.")) and name not in NAMES]
    return [*lacking, *(f"{name} is not in the conventions" for name in unknown)]
