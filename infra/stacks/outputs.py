"""What a stack says about its functions, for the local stack and for people."""

from collections.abc import Sequence

import aws_cdk as cdk

from infra.constructs.function import Function


def list_functions(stack: cdk.Stack, functions: Sequence[Function]) -> None:
    """Outputs `<Part>Function` (the function's name) for each, and `LogGroups`, all their log groups."""
    for function in functions:
        cdk.CfnOutput(stack, f"{function.node.id}Function", value=function.function.function_name)
    names = ",".join(function.log_group.log_group_name for function in functions)
    cdk.CfnOutput(stack, "LogGroups", value=names, description="Log groups, separated by commas")
