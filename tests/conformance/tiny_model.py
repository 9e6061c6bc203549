"""A language model of a few hundred kilobytes with random weights: real enough for llama.cpp to load and to serve.

It speaks nonsense, always the same for one seed, in printable characters: the rows of the output matrix that stand for
other bytes are zero, so greedy decoding never picks them and text on the wire stays readable. It may be given a token
it says whenever it is allowed to: `<tool_call>` makes it a model that always calls a tool, with nonsense arguments that
only llama.cpp's grammar keeps to their schema.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

WIDTH, LAYERS, HEADS, INNER, CONTEXT = 64, 2, 4, 128, 4096
SPECIAL = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
CALLS = "<tool_call>\n"


CHAT_TEMPLATE = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
    {{- '# Tools\\n<tools>' }}
    {%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{%- endfor %}
    {{- '\\n</tools>\\n<tool_call>\\n{"name": <name>, "arguments": <arguments>}\\n</tool_call><|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'system' and tools and loop.first %}
    {%- elif message.role == 'tool' %}
        {{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}
    {%- else %}
        {{- '<|im_start|>' + message.role }}
        {%- if message.content %}{{- '\\n' + message.content }}{%- endif %}
        {%- for tool_call in message.tool_calls or [] %}
            {%- set tool_call = tool_call.function %}
            {{- '\\n<tool_call>\\n{"name": "' + tool_call.name + '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""


def write_tiny_model(path: Path, *, favourite: str | None = None, seed: int = 7) -> Path:
    """A GGUF file that llama.cpp takes for a chat model."""
    tokens = [*_byte_tokens(), "Ġt", CALLS, *SPECIAL]
    kinds = [gguf.TokenType.NORMAL] * 257 + [gguf.TokenType.USER_DEFINED] + [gguf.TokenType.CONTROL] * len(SPECIAL)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(["Ġ t"])
    writer.add_bos_token_id(tokens.index("<|endoftext|>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)
    for name, tensor in _weights(tokens, favourite, np.random.default_rng(seed)).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _byte_tokens() -> list[str]:
    """The 256 bytes as GPT-2 spells them: those that print as themselves, the others as letters from U+0100 on."""
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    rest = [byte for byte in range(256) if byte not in printing]
    return [chr(byte) if byte in printing else chr(0x100 + rest.index(byte)) for byte in range(256)]


def _weights(tokens: list[str], favourite: str | None, chance: np.random.Generator) -> dict[str, np.ndarray]:
    def random(*shape: int) -> np.ndarray:
        return (chance.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    ones = np.ones(WIDTH, dtype=np.float32)
    readable = np.array([len(token) == 1 and (token.isascii() or token == "Ġ") for token in tokens])
    embedding = random(len(tokens), WIDTH)
    output = random(len(tokens), WIDTH) * readable[:, None].astype(np.float32)
    # No layer writes to the first place, so it is the same for every token: what stands there in a row is a bias.
    embedding[:, 0], output[:, 0] = 1.0, 0.0
    if favourite is not None:
        output[tokens.index(favourite), 0] = 100.0
    weights = {"token_embd.weight": embedding, "output_norm.weight": ones, "output.weight": output}
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        weights |= {f"{block}.{name}_norm.weight": ones for name in ("attn", "ffn")}
        weights |= {f"{block}.attn_{name}.weight": random(WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
        weights |= {f"{block}.ffn_{name}.weight": random(INNER, WIDTH) for name in ("gate", "up")}
        weights[f"{block}.ffn_down.weight"] = random(WIDTH, INNER)
        for name in ("attn_output", "ffn_down"):
            weights[f"{block}.{name}.weight"][0] = 0.0
    return weights
