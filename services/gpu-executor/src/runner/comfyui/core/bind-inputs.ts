import type { InputTarget } from '@runledger/contracts/catalogue/input-targets';
import type { ComfyWorkflow, WorkflowNode } from './workflow.ts';

export type BoundWorkflow =
  | { readonly kind: 'bound'; readonly workflow: ComfyWorkflow; readonly unbound: readonly string[] }
  | { readonly kind: 'no_such_node'; readonly input: string; readonly node: string };

type Inputs = Readonly<Record<string, unknown>>;

/**
 * Writes the inputs of a run into the nodes that take them: those that the version names, and the external-input nodes, whose
 * `input_id` names an input.
 */
export const bindInputs = (
  workflow: ComfyWorkflow,
  inputs: Inputs,
  targets: readonly InputTarget[],
): BoundWorkflow => {
  const bound = new Map<string, WorkflowNode>();
  const taken = new Set<string>();
  for (const [id, node] of Object.entries(workflow)) {
    const name = externalInput(node);
    if (name !== undefined && Object.hasOwn(inputs, name)) taken.add(name);
    bound.set(id, name === undefined ? node : withExternal(node, name, inputs));
  }
  for (const { name, node: id, field } of targets) {
    if (!Object.hasOwn(inputs, name)) continue;
    const node = bound.get(id);
    if (node === undefined) return { kind: 'no_such_node', input: name, node: id };
    bound.set(id, { ...node, inputs: { ...node.inputs, [field]: asValue(inputs[name]) } });
    taken.add(name);
  }
  const unbound = Object.keys(inputs).filter((name) => !taken.has(name));
  return { kind: 'bound', workflow: Object.fromEntries(bound), unbound };
};

const EXTERNAL = 'ComfyUIDeployExternal';
/** Where such a node takes its value. All others have it in `default_value`. */
const VALUE_FIELDS: ReadonlyMap<string, string> = new Map([
  ['Image', 'input_id'],
  ['ImageAlpha', 'input_id'],
  ['Video', 'input_id'],
  ['Vid', 'input_id'],
  ['Audio', 'audio_file'],
  ['EXR', 'exr_file'],
  ['FaceModel', 'face_model_url'],
  ['File', 'file_url'],
  ['ImageBatch', 'images'],
  ['Lora', 'lora_url'],
]);

const externalInput = ({ class_type, inputs }: WorkflowNode): string | undefined => {
  const name = inputs['input_id'];
  return class_type.startsWith(EXTERNAL) && typeof name === 'string' ? name : undefined;
};

const withExternal = (node: WorkflowNode, name: string, inputs: Inputs): WorkflowNode => {
  const field = VALUE_FIELDS.get(node.class_type.slice(EXTERNAL.length)) ?? 'default_value';
  const given = Object.hasOwn(inputs, name) ? { [field]: externalValue(field, inputs[name]) } : {};
  // A node of numbers takes an id that is a number as its value.
  const id = Number.isNaN(Number(name)) ? {} : { input_id: `input ${name}` };
  return { ...node, inputs: { ...node.inputs, ...id, ...given } };
};

/** A list of images is written as JSON. */
const externalValue = (field: string, value: unknown): unknown =>
  field === 'images' && Array.isArray(value) ? JSON.stringify(value) : asValue(value);

/** The server takes a bare list as a link to another node. */
const asValue = (value: unknown): unknown => (Array.isArray(value) ? { __value__: value } : value);
