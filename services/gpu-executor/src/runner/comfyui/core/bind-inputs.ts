import type { InputTarget } from '@runledger/contracts/catalogue/input-targets';
import { isJsonNumber, numberText } from '@runledger/contracts/numbers/exact-number';
import { asksForDefault, externalNode, type ExternalNode } from './external-nodes.ts';
import type { ComfyWorkflow, WorkflowNode } from './workflow.ts';

export type BoundWorkflow =
  | { readonly kind: 'bound'; readonly workflow: ComfyWorkflow; readonly unbound: readonly string[] }
  | { readonly kind: 'no_such_node'; readonly input: string; readonly node: string }
  /** The node would take something else instead, without a word. `why`: what it takes. */
  | { readonly kind: 'not_taken'; readonly input: string; readonly node: string; readonly why: string };

/** The inputs of a run, as nodes are given them. */
export interface NodeInputs {
  /** Files by the names under which they were uploaded. */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** Files that nodes fetch, by the names of their inputs. */
  readonly served: ReadonlyMap<string, ServedInput>;
}

export interface ServedInput {
  /** The URL, or a list of them. */
  readonly url: string | readonly string[];
  /** A name of its own for its content, with its suffix. */
  readonly contentName: string;
}

/**
 * Writes the inputs of a run into the nodes that take them: those that the version names, and the external-input nodes, whose
 * `input_id` names an input.
 */
export const bindInputs = (
  workflow: ComfyWorkflow,
  given: NodeInputs,
  targets: readonly InputTarget[],
): BoundWorkflow => {
  const { inputs } = given;
  const bound = new Map<string, WorkflowNode>();
  const taken = new Set<string>();
  for (const [id, node] of Object.entries(workflow)) {
    const external = externalNode(node);
    if (external !== undefined && Object.hasOwn(inputs, external.input)) {
      taken.add(external.input);
      if (!isTaken(external, given))
        return { kind: 'not_taken', input: external.input, node: id, why: external.takes?.words ?? '' };
    }
    bound.set(id, external === undefined ? node : withExternal(node, external, given));
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

const isTaken = ({ input, takes, byUrl }: ExternalNode, { inputs, served }: NodeInputs): boolean => {
  const value = inputs[input];
  if (takes === undefined || asksForDefault(value) || (byUrl && served.has(input))) return true;
  return [value].flat().every((each) => takes.form.test(textOf(each) ?? ''));
};

const textOf = (value: unknown): string | undefined => {
  if (typeof value === 'string') return value;
  return isJsonNumber(value) ? numberText(value) : undefined;
};

const withExternal = (node: WorkflowNode, external: ExternalNode, given: NodeInputs): WorkflowNode => {
  const { input, defaults = [] } = external;
  // A node of numbers takes an id that Python reads as one as its value.
  const id = READ_AS_NUMBER.test(input) ? { input_id: `input ${input}` } : {};
  if (!Object.hasOwn(given.inputs, input)) return { ...node, inputs: { ...node.inputs, ...id } };
  const kept = asksForDefault(given.inputs[input])
    ? node.inputs
    : Object.fromEntries(Object.entries(node.inputs).filter(([name]) => !defaults.includes(name)));
  return { ...node, inputs: { ...kept, ...id, ...givenTo(external, given) } };
};

const READ_AS_NUMBER = /^\s*[+-]?(nan|inf|infinity|[\p{Nd}\p{No}._e+-]+)\s*$/iu;

const givenTo = (
  { input, field, byUrl, keptAs, byId, beside }: ExternalNode,
  { inputs, served }: NodeInputs,
): Record<string, unknown> => {
  const value = inputs[input];
  const file = byUrl ? served.get(input) : undefined;
  if (file !== undefined)
    return {
      [field]: externalValue(field, file.url),
      ...(keptAs !== undefined && { [keptAs]: file.contentName }),
    };
  const text = textOf(value);
  if (text !== undefined && byId?.test(text)) return { input_id: text };
  return { [field]: externalValue(field, value), ...(text !== RANDOM && beside) };
};

const RANDOM = '-1';

/** A batch of images is a list as JSON, also of one. */
const externalValue = (field: string, value: unknown): unknown => {
  if (field === BATCH && Array.isArray(value)) return JSON.stringify(value);
  return field === BATCH && typeof value === 'string' && URL.canParse(value)
    ? JSON.stringify([value])
    : asValue(value);
};

const BATCH = 'images';

/** The server takes a bare list as a link to another node. */
const asValue = (value: unknown): unknown => (Array.isArray(value) ? { __value__: value } : value);
