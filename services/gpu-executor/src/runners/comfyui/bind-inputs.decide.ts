import type { InputTarget } from '@runledger/contracts/catalogue/workflow-inputs';
import { isJsonNumber, numberText } from '@runledger/contracts/exact-number';
import type { ComfyWorkflow, WorkflowNode } from './workflow.decide.ts';

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
      if (!isAccepted(external, given))
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

const isAccepted = ({ input, takes, byUrl }: ExternalNode, { inputs, served }: NodeInputs): boolean => {
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
  { input, field, byUrl, savedAs, byId, beside }: ExternalNode,
  { inputs, served }: NodeInputs,
): Record<string, unknown> => {
  const value = inputs[input];
  const file = byUrl ? served.get(input) : undefined;
  if (file !== undefined)
    return {
      [field]: externalValue(field, file.url),
      ...(savedAs !== undefined && { [savedAs]: file.contentName }),
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

/**
 * How the nodes of ComfyUI Deploy take an input: `input_id` names it. From their source (comfyui-deploy 2.3): whatever else a node is
 * given in the place of a URL, and what it cannot fetch or read, it takes its default for, without a word.
 */
interface ExternalKind {
  /** Where it takes the value. */
  readonly field: string;
  /** It fetches a file by its URL, and knows no names of uploaded files. */
  readonly byUrl?: true;
  /** All that it takes; anything where it is left out. */
  readonly takes?: AcceptedValues;
  /** What it falls back on. Without them a node that cannot read its value has nothing, and the next node fails. */
  readonly defaults?: readonly string[];
  /** What its output is, in Python's words, when it could not read its value: it swallows the error. */
  readonly nothing?: RegExp;
  /** It reads pictures, and swallows the error when a file is none. */
  readonly isPicture?: true;
  /** Files that it takes pictures out of. */
  readonly unpacks?: RegExp;
  /** A number in its `input_id` is its value. Such numbers go there: the server lets no larger ones into `default_value`. */
  readonly byId?: RegExp;
  /** What is set beside a seed that is not to be drawn. */
  readonly beside?: Readonly<Record<string, number>>;
  /** Under which name it keeps the file among the models of the server. It takes one that is there already in place of the file. */
  readonly savedAs?: string;
}

interface AcceptedValues {
  /** Of a value as text. */
  readonly form: RegExp;
  /** Sentences for people. */
  readonly words: string;
}

const PREFIX = 'ComfyUIDeployExternal';
const URL_WORDS =
  'It takes a URL, and its default for anything else. Send a URL that begins with http, or declare the input as a file (image, video, …) and send one.';
const URLS = { form: /^http/, words: URL_WORDS };
const URLS_OR_PICTURES = { form: /^http|^data:image\/(png|jpeg|jpg);base64,/, words: URL_WORDS };
const SEEDS = {
  form: /^(-1|[1-9]\d{0,14})$/,
  words:
    'It takes a seed from 1 to 999999999999999, or -1 for a random one, and draws another one in place of any other number.',
};
const NONE = /^None$/;
/** A picture that could be opened and not decoded is handed on as it is. */
const NO_TENSOR = /^None$|^<PIL\./;
const PICTURES = { byUrl: true, takes: URLS_OR_PICTURES, isPicture: true, nothing: NO_TENSOR } as const;
const MAX_SEED = 999_999_999_999_999;
const KINDS: ReadonlyMap<string, ExternalKind> = new Map<string, ExternalKind>([
  ['Image', { field: 'input_id', ...PICTURES, defaults: ['default_value', 'default_value_url'] }],
  ['ImageAlpha', { field: 'input_id', ...PICTURES, defaults: ['default_value'] }],
  ['ImageBatch', { field: 'images', ...PICTURES, unpacks: /\.zip$/, defaults: ['default_value'] }],
  ['Video', { field: 'input_id', byUrl: true, takes: URLS, defaults: ['default_video'] }],
  // It cannot be called without its default.
  ['Vid', { field: 'input_id', byUrl: true, takes: URLS }],
  ['File', { field: 'file_url', byUrl: true, nothing: /^$/ }],
  ['Lora', { field: 'lora_url', byUrl: true, savedAs: 'lora_save_name', defaults: ['default_lora_name'] }],
  ['FaceModel', { field: 'face_model_url', byUrl: true, takes: URLS, savedAs: 'face_model_save_name' }],
  ['Audio', { field: 'audio_file', defaults: ['default_value'], nothing: NONE }],
  ['EXR', { field: 'exr_file', defaults: ['default_image', 'default_mask'], nothing: NONE }],
  ['Number', { field: 'default_value', byId: /^-?(\d{10,}(\.\d+)?|[\d.]+e[+-]?\d+)$/i }],
  ['NumberInt', { field: 'default_value', byId: /^\d{10,}$/ }],
  // It draws a seed in place of one beyond its bounds. -1 asks for that.
  ['Seed', { field: 'default_value', takes: SEEDS, beside: { min_value: 1, max_value: MAX_SEED } }],
]);
const OTHERS: ExternalKind = { field: 'default_value' };

interface ExternalNode extends ExternalKind {
  /** The input that it takes. */
  readonly input: string;
}

/** Undefined for any other node. */
export const externalNode = ({ class_type, inputs }: WorkflowNode): ExternalNode | undefined => {
  const input = inputs['input_id'];
  if (!class_type.startsWith(PREFIX) || typeof input !== 'string') return undefined;
  return { input, ...(KINDS.get(class_type.slice(PREFIX.length)) ?? OTHERS) };
};

/** The nodes of ComfyUI Deploy in a workflow, by their ids. */
export const externalNodes = (workflow: ComfyWorkflow): (readonly [id: string, node: ExternalNode])[] =>
  Object.entries(workflow).flatMap(([id, node]) => {
    const external = externalNode(node);
    return external === undefined ? [] : [[id, external] as const];
  });

/** Whether a node takes an input by the name of an uploaded file. */
export const acceptsInput = (workflow: ComfyWorkflow, input: string): boolean =>
  externalNodes(workflow).some(([, external]) => external.input === input && !external.byUrl);

/** Null, an empty text and an empty list ask a node that has defaults for them. */
export const asksForDefault = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);
