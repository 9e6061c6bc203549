"""The desktop as Qwen Code's own tools reach it (0.21.2): windows, apps and a cursor of the client's.

A click by its place in a list of the client's elements has no meaning elsewhere, so these steer the client.
"""

from __future__ import annotations

from dragoman.dialects.base.steering import Steer

_REASON = "it names elements, windows and sessions of the client's own"
_PARAMETERS = {
    "bring_to_front": "pid window_id",
    "check_for_update": "",
    "check_permissions": "prompt",
    "click": "action count debug_image_out element_index from_zoom modifier pid session window_id x y",
    "double_click": "element_index pid session window_id x y",
    "drag": "button duration_ms from_x from_y from_zoom modifier pid session steps to_x to_y window_id",
    "end_session": "session",
    "get_accessibility_tree": "",
    "get_agent_cursor_state": "cursor_id",
    "get_config": "",
    "get_cursor_position": "",
    "get_recording_state": "",
    "get_screen_size": "",
    "get_window_state": "capture_mode pid query screenshot_out_file session window_id",
    "hotkey": "keys pid session window_id",
    "kill_app": "pid",
    "launch_app": (
        "additional_arguments bundle_id creates_new_application_instance electron_debugging_port name "
        "urls webkit_inspector_port"
    ),
    "list_apps": "",
    "list_windows": "on_screen_only pid",
    "move_cursor": "cursor_id session x y",
    "page": "action attributes bundle_id css_selector javascript pid selector user_has_confirmed_enabling window_id",
    "press_key": "element_index key modifiers pid session window_id",
    "replay_trajectory": "delay_ms dir stop_on_error",
    "right_click": "element_index modifier pid session window_id x y",
    "scroll": "amount by direction element_index pid session window_id",
    "set_agent_cursor_enabled": "cursor_id enabled",
    "set_agent_cursor_motion": (
        "arc_flow arc_size cursor_color cursor_icon cursor_id cursor_label cursor_opacity cursor_size "
        "dwell_after_click_ms end_handle glide_duration_ms idle_hide_ms spring start_handle turn_radius"
    ),
    "set_agent_cursor_style": "bloom_color cursor_id gradient_colors image_path",
    "set_config": "capture_mode experimental_pip experimental_pip_geometry max_image_dimension",
    "set_value": "element_index pid session value window_id",
    "start_recording": "output_dir record_video",
    "start_session": "session",
    "stop_recording": "",
    "type_text": "delay_ms element_index pid session text window_id",
    "zoom": "pid window_id x1 x2 y1 y2",
}
"""Tool → its parameters, as captured with 0.21.2."""

STEERED = tuple(
    Steer(f"computer_use__{name}", _REASON, tuple(parameters.split()), since="0.21", until="0.21")
    for name, parameters in _PARAMETERS.items()
)
