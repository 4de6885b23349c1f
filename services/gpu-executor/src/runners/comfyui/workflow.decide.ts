import { Type, type Static } from 'typebox';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { isJsonObject } from '@runledger/contracts/json';
import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import type { OutputNode, RunnerWork } from '../runner.ts';

const Node = Type.Object({
  class_type: Type.String({ minLength: 1 }),
  inputs: Type.Record(Type.String(), Type.Unknown()),
  _meta: Type.Optional(Type.Unknown()),
});

/** A workflow in ComfyUI's API format: its nodes by their ids. */
const Workflow = Type.Record(Type.String(), Node);
export type WorkflowNode = Static<typeof Node>;
export type ComfyWorkflow = Readonly<Record<string, WorkflowNode>>;

const workflow = compiledSchema(Workflow);

/** What the server gets beside a workflow: `workflow` in it is that of the editor, which save nodes put into pictures. */
export type PngInfo = Static<typeof PngInfo>;
const PngInfo = Type.Record(Type.String(), Type.Unknown());

/** As ComfyUI's own page sends it to the server. */
const body = compiledSchema(
  Type.Object({
    prompt: Workflow,
    extra_data: Type.Optional(Type.Object({ extra_pnginfo: Type.Optional(PngInfo) })),
  }),
);

export type ReadWorkflow =
  | { readonly kind: 'workflow'; readonly workflow: ComfyWorkflow; readonly pngInfo?: PngInfo }
  | { readonly kind: 'not_one'; why: string };

export const readWorkflow = (value: unknown): ReadWorkflow => {
  if (workflow.Check(value) && Object.keys(value).length > 0) return { kind: 'workflow', workflow: value };
  if (body.Check(value) && Object.keys(value.prompt).length > 0) {
    const pngInfo = value.extra_data?.extra_pnginfo;
    return { kind: 'workflow', workflow: value.prompt, ...(pngInfo && { pngInfo }) };
  }
  const isSaved = typeof value === 'object' && value !== null && 'nodes' in value && 'links' in value;
  const found = isSaved ? 'It is in the format in which ComfyUI saves it. ' : '';
  return {
    kind: 'not_one',
    why: `The workflow is not one in ComfyUI's API format. ${found}In ComfyUI, choose "Export (API)", and create a version with that file.`,
  };
};

/** What people call a node: its title, or its class. */
export const nodeTitle = (node: WorkflowNode): string => ownTitle(node) ?? node.class_type;

const ownTitle = ({ _meta }: WorkflowNode): string | null => {
  const title = typeof _meta === 'object' && _meta !== null && 'title' in _meta ? _meta.title : undefined;
  return typeof title === 'string' && title.trim() !== '' ? title.trim().toWellFormed() : null;
};

/** A node as the outputs show it. `said`: what it called its output. */
export const outputNode = (nodes: ComfyWorkflow, id: string, said: string | null): OutputNode => {
  const node = nodes[id];
  const wanted = node?.inputs['output_id'];
  return {
    id,
    class_type: node?.class_type ?? '',
    title: node === undefined ? null : ownTitle(node),
    output_id: said ?? (typeof wanted === 'string' && wanted !== '' ? wanted : null),
  };
};

/** The node of the workflow that a node belongs to: a node that expands brings ids such as `2.0.0.1`. */
export const nodeInWorkflow = (nodes: ComfyWorkflow, id: string): string =>
  Object.hasOwn(nodes, id) ? id : (id.split('.')[0] ?? id);

/** What a server says of a class of nodes in `GET /object_info/{class}`, as far as the executor needs it. */
export interface NodeClass {
  /** Its nodes are ends of a workflow: the server executes them for what they make. */
  readonly isOutput: boolean;
  /** It hands its `filename_prefix` to ComfyUI's own `folder_paths.get_save_image_path`, which makes the folders of it. */
  readonly resolvesPrefix: boolean;
  /** It comes with ComfyUI. */
  readonly isBuiltIn: boolean;
}

export const readNodeClass = (class_type: string, info: unknown): NodeClass => {
  const { output_node, python_module, input } = isJsonObject(info) ? info : {};
  const module = typeof python_module === 'string' ? python_module : '';
  const isBuiltIn = BUILT_IN.test(module);
  const inFolder = takes(input, FOLDER);
  return {
    isOutput: output_node === true,
    isBuiltIn,
    resolvesPrefix: (isBuiltIn && !inFolder) || RESOLVING.has(class_type),
  };
};

/** The modules of the server itself, and of the packages that come with it. */
const BUILT_IN = /^(nodes|comfy_extras\..*|comfy_api_nodes\..*)$/;

/** ComfyUI's own nodes for data sets join this folder and the prefix themselves. All of its others resolve the prefix (read in 0.3.64 to 0.27). */
const FOLDER = 'folder_name';

/** Public classes that resolve it, as their sources show: those of comfyui-deploy and ComfyUI-VideoHelperSuite. */
const RESOLVING: ReadonlySet<string> = new Set([
  'ComfyDeployOutputEXR',
  'ComfyDeployOutputImage',
  'ComfyDeployOutputText',
  'VHS_VideoCombine',
]);

const takes = (input: unknown, name: string): boolean =>
  isJsonObject(input) &&
  Object.values(input).some((group) => isJsonObject(group) && Object.hasOwn(group, name));

/**
 * What the server gets beside the nodes of a prompt: what save nodes write into pictures, and the credentials of its own API nodes. It
 * keeps credentials out of its queue and history.
 */
export type ExtraData = Readonly<Record<string, unknown>>;

/** The inputs of a run that are credentials for API nodes. No node takes them as a value. */
const CREDENTIALS = ['api_key_comfy_org', 'auth_token_comfy_org'] as const;

export const extraData = ({ inputs }: RunnerWork, pngInfo: PngInfo | undefined): ExtraData => ({
  ...(pngInfo && { extra_pnginfo: pngInfo }),
  ...Object.fromEntries(CREDENTIALS.flatMap((name) => (isGiven(inputs, name) ? [[name, inputs[name]]] : []))),
});

export const withoutCredentials = (inputs: RunnerWork['inputs']): RunnerWork['inputs'] =>
  Object.fromEntries(Object.entries(inputs).filter(([name]) => !CREDENTIALS.some((each) => each === name)));

/** Why a run with a credential that everybody may read is not executed; null for any other one. */
export const openCredentials = ({ inputs, secretInputs }: RunnerWork): AttemptError | null => {
  const open = CREDENTIALS.find((name) => isGiven(inputs, name) && !secretInputs.includes(name));
  if (open === undefined) return null;
  const why = `The input "${open}" is a credential, and everybody who may read the run can read it. Create a version that declares it as secret, and replace the key.`;
  return errorOf('invalid_inputs', why);
};

const isGiven = (inputs: RunnerWork['inputs'], name: string): boolean =>
  Object.hasOwn(inputs, name) && inputs[name] !== null;
