"""Requirements that no document can violate: demands on the program, and the tests that try it."""

from collections.abc import Mapping
from typing import NamedTuple


class Behaviour(NamedTuple):
    """What ssptool does about a requirement, and tests of it beside those that name its id."""

    told: str
    tests: tuple[str, ...] = ()


_NETWORK = "tests/network"
_PARAMETERS = "values of parameters in a run"

BEHAVIOUR: Mapping[str, Behaviour] = {
    "PKG-013": Behaviour(
        "variants are read: --variant names one, else SystemStructure.ssd counts",
        ("tests/editing/test_atomicity.py::test_only_the_named_variant_is_edited",),
    ),
    "PKG-014": Behaviour(
        "variants are listed by their names",
        ("tests/editing/test_packing.py::test_variants_are_listed_with_the_default_first",),
    ),
    "PKG-019": Behaviour("ssptool calls no package unchanged or signed, with or without `extra/`"),
    "VER-003": Behaviour(
        "documents of both versions are read",
        (f"{_NETWORK}/test_flatten.py::test_connectors_of_2_0_make_no_wires_in_a_document_of_1_0",),
    ),
    "VER-005": Behaviour(
        "downgrade",
        (
            "tests/editing/test_versions.py::test_what_1_0_cannot_hold_is_refused_by_name_or_dropped_and_kept",
            "tests/editing/test_versions.py::test_a_1_0_document_comes_back_byte_for_byte",
        ),
    ),
    "EXT-001": Behaviour(
        "other formats of parameters are named (SSD-PAR-006)",
        (f"{_NETWORK}/test_parameters.py::test_bindings_that_cannot_be_read_are_left_to_the_rules",),
    ),
    "ANN-006": Behaviour(
        "annotations of others are kept",
        (
            "tests/editing/test_vendor_content.py::test_an_edit_does_what_it_does_without_annotations",
            "tests/editing/test_vendor_content.py::test_fixes_change_no_annotation",
        ),
    ),
    "UNIT-005": Behaviour(
        "conversion of units in a run",
        (
            f"{_NETWORK}/test_flatten.py::test_a_transformation_acts_after_the_conversion_of_units",
            f"{_NETWORK}/test_units.py::test_values_are_converted",
        ),
    ),
    "UNIT-007": Behaviour(
        "conversion that is switched off",
        (f"{_NETWORK}/test_flatten.py::test_suppressed_conversion_leaves_the_transformation_alone",),
    ),
    "DIM-006": Behaviour(
        "sizes of arrays come from the FMU and the connections",
        (
            f"{_NETWORK}/test_arrays.py::test_connectors_of_systems_take_their_size_from_what_they_are_connected_to",
            f"{_NETWORK}/test_arrays.py::test_a_size_that_nothing_gives_is_refused",
        ),
    ),
    "CLK-004": Behaviour(
        "clocks that tick by themselves count as outputs (SSD-CONN-003)",
        ("tests/engine/event_mode/test_event_mode.py::test_a_clock_that_ticks_by_itself_is_not_triggered",),
    ),
    "TRF-006": Behaviour(
        "values that a table does not list",
        (
            f"{_NETWORK}/test_flatten.py::test_a_table_on_a_connection_maps_what_it_lists_and_nothing_else",
            f"{_NETWORK}/test_parameters.py::test_mapping_transformations_pass_on_what_they_do_not_list",
        ),
    ),
    "TRF-012": Behaviour(
        "transformations of arrays",
        (
            f"{_NETWORK}/test_arrays.py::test_units_and_transformations_act_on_every_element",
            f"{_NETWORK}/test_arrays.py::test_a_mapping_renames_an_array_and_transforms_its_elements",
        ),
    ),
    "META-007": Behaviour("ssptool verifies no signature, and calls none verified"),
    "SSD-CONN-005": Behaviour(
        "direction of connections",
        (
            f"{_NETWORK}/test_flatten.py::test_start_and_end_give_no_direction",
            f"{_NETWORK}/test_connections.py::test_direction_is_unique_without_unspecified",
        ),
    ),
    "SSD-CONN-006": Behaviour(
        "an output may lead to several inputs",
        (f"{_NETWORK}/test_flatten.py::test_boundaries_of_two_levels_vanish_and_their_conversions_compose",),
    ),
    "SSD-DICT-005": Behaviour("signal dictionaries in a run"),
    "SSD-DICT-010": Behaviour(
        "signal dictionaries in a run",
        (
            f"{_NETWORK}/test_signal_dictionaries.py::test_one_reference_is_written_and_read",
            f"{_NETWORK}/test_signal_dictionaries.py::test_the_first_writer_of_several_is_taken",
        ),
    ),
    "SSD-DICT-012": Behaviour(
        "units of signal dictionaries",
        (
            f"{_NETWORK}/test_signal_dictionaries.py::"
            "test_the_entry_stores_its_own_unit_whatever_connectors_and_transformations_do",
        ),
    ),
    "SSD-PAR-007": Behaviour(_PARAMETERS),
    "SSD-PAR-008": Behaviour(_PARAMETERS),
    "SSD-PAR-009": Behaviour(_PARAMETERS),
    "SSD-PAR-011": Behaviour(_PARAMETERS),
    "SSD-PAR-012": Behaviour(_PARAMETERS),
    "SSD-PAR-013": Behaviour(_PARAMETERS),
    "SSD-PAR-014": Behaviour(_PARAMETERS),
    "SSD-PAR-015": Behaviour(_PARAMETERS),
    "SSD-PAR-016": Behaviour(_PARAMETERS),
    "SSD-PAR-019": Behaviour(
        "when parameters are set",
        (
            "tests/engine/test_arrays.py::test_structural_parameters_size_a_linear_system",
            "tests/engine/test_parameter_wires.py::test_calculated_parameters_go_through_a_chain",
        ),
    ),
    "SSD-PAR-020": Behaviour(_PARAMETERS),
    "SSD-PAR-025": Behaviour(_PARAMETERS),
    "SSD-PAR-026": Behaviour(
        "structural parameters come first",
        (f"{_NETWORK}/test_arrays.py::test_structural_parameters_size_arrays",),
    ),
    "SSD-COMP-012": Behaviour(
        "components without an implementation are refused by a run",
        (f"{_NETWORK}/test_flatten.py::test_elements_that_are_not_supported_are_refused_by_name",),
    ),
    "URI-001": Behaviour(
        "bases of references",
        (
            f"{_NETWORK}/test_nested_packages.py::test_a_package_inside_is_flattened_with_its_own_units_and_resources",
            f"{_NETWORK}/test_parameters.py::test_a_set_inside_the_fmu_is_read_from_there",
        ),
    ),
    "URI-005": Behaviour("references that are not relative are refused by name (SSD-COMP-003, URI-006)"),
    "SSD-GEO-009": Behaviour(
        "diagrams",
        (
            "tests/drawing/sheets/test_insides.py::test_a_nested_canvas_is_stretched_to_its_box_mirrored_and_turned",
            "tests/drawing/sheets/test_insides.py::test_an_icon_turns_against_its_angle_where_its_system_is_mirrored",
        ),
    ),
    "SSD-EXP-001": Behaviour(
        "the interval of a run",
        (
            f"{_NETWORK}/test_flatten.py::test_the_experiment_is_that_of_the_document_or_open",
            "tests/engine/test_plan.py::test_without_an_experiment_of_the_system_the_longest_of_its_fmus_counts",
        ),
    ),
    "SSD-EXP-003": Behaviour(
        "the step size of a run, with its reason",
        (
            "tests/engine/test_plan.py::test_the_smallest_recommended_step_size_is_taken",
            "tests/engine/test_plan.py::test_without_any_recommendation_there_are_a_thousand_steps",
        ),
    ),
    "SSV-007": Behaviour(
        "the order of array values",
        (
            f"{_NETWORK}/test_arrays.py::test_elements_are_numbered_row_by_row",
            "tests/editing/test_arrays.py::test_the_values_of_a_matrix_stand_row_by_row",
        ),
    ),
    "SSV-010": Behaviour(
        "spellings of values", ("tests/documents/test_element_classes.py::test_a_parameter_has_a_python_value",)
    ),
    "SSM-002": Behaviour(_PARAMETERS),
    "FMU-014": Behaviour(
        "values that the system does not give",
        (
            "tests/engine/test_initialize.py::test_an_unconnected_input_keeps_its_start_value",
            "tests/engine/test_parameter_wires.py::test_without_a_value_for_the_system_components_keep_theirs",
        ),
    ),
    "EXE-001": Behaviour(
        "conversions along a connection",
        (
            f"{_NETWORK}/test_flatten.py::test_boundaries_of_two_levels_vanish_and_their_conversions_compose",
            f"{_NETWORK}/test_units.py::test_composed_conversions_do_what_they_do_one_after_the_other",
        ),
    ),
    "EXE-002": Behaviour(
        "connections over boundaries of systems",
        (
            f"{_NETWORK}/test_flatten.py::test_a_wire_remembers_every_connection_it_came_through",
            f"{_NETWORK}/test_flatten.py::test_a_long_chain_of_systems_that_only_pass_on_is_one_wire",
        ),
    ),
    "EXE-003": Behaviour(
        "connections of parameters",
        (
            "tests/engine/test_parameter_wires.py::test_calculated_parameters_go_through_a_chain",
            "tests/engine/test_parameter_wires.py::"
            "test_parameters_that_are_calculated_from_each_other_without_end_are_reported",
        ),
    ),
    "EXE-004": Behaviour(
        "values that do not fit are refused by name",
        (f"{_NETWORK}/test_parameters.py::test_values_that_do_not_suit_their_variable_are_refused_by_name",),
    ),
    "EXE-005": Behaviour(
        "master, step size and solvers are chosen with reasons",
        ("tests/engine/test_plan.py::test_what_an_fmu_lacks_decides_the_master_and_is_the_reason",),
    ),
    "EXE-006": Behaviour(
        "values of connected parameters",
        (
            f"{_NETWORK}/test_parameters.py::"
            "test_values_of_parameters_of_the_root_system_go_on_and_stay_the_source_of_its_wires",
            f"{_NETWORK}/test_parameters.py::test_values_of_inner_systems_that_are_connected_outside_give_way",
        ),
    ),
}
"""Requirement → what the program does about it."""
