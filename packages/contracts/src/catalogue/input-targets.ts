import { Type, type Static } from 'typebox';
import type { WorkflowInput } from './records.ts';

/** An input, and the node of the workflow and its field that take the value. */
export const InputTarget = Type.Object({
  name: Type.String(),
  node: Type.String(),
  field: Type.String(),
});
export type InputTarget = Readonly<Static<typeof InputTarget>>;

/** Of the inputs of a workflow version. */
export const inputTargets = (inputs: readonly WorkflowInput[]): InputTarget[] =>
  inputs.flatMap(({ name, node, field }) =>
    node === undefined || field === undefined ? [] : [{ name, node, field }],
  );
