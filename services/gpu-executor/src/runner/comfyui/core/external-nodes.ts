import type { ComfyWorkflow, WorkflowNode } from './workflow.ts';

/**
 * How the nodes of ComfyUI Deploy take an input: `input_id` names it. From their source (comfyui-deploy 2.3): whatever else a node is
 * given in the place of a URL, and a URL that it cannot fetch, it takes its default without a word.
 */
interface ExternalKind {
  /** Where it takes the value. */
  readonly field: string;
  /** It fetches a file by its URL, and knows no names of uploaded files. */
  readonly byUrl?: true;
  /** All that it takes; anything where it is left out. */
  readonly takes?: RegExp;
  /** Under which name it keeps the file among the models of the server. It takes one that is there already in place of the file. */
  readonly keptAs?: string;
}

const PREFIX = 'ComfyUIDeployExternal';
const URLS = /^http/;
const URLS_OR_PICTURES = /^http|^data:image\/(png|jpeg|jpg);base64,/;
const KINDS: ReadonlyMap<string, ExternalKind> = new Map<string, ExternalKind>([
  ['Image', { field: 'input_id', byUrl: true, takes: URLS_OR_PICTURES }],
  ['ImageAlpha', { field: 'input_id', byUrl: true, takes: URLS_OR_PICTURES }],
  ['ImageBatch', { field: 'images', byUrl: true, takes: URLS_OR_PICTURES }],
  ['Video', { field: 'input_id', byUrl: true, takes: URLS }],
  ['Vid', { field: 'input_id', byUrl: true, takes: URLS }],
  ['File', { field: 'file_url', byUrl: true }],
  ['Lora', { field: 'lora_url', byUrl: true, keptAs: 'lora_save_name' }],
  ['FaceModel', { field: 'face_model_url', byUrl: true, takes: URLS, keptAs: 'face_model_save_name' }],
  ['Audio', { field: 'audio_file' }],
  ['EXR', { field: 'exr_file' }],
]);
const OTHERS: ExternalKind = { field: 'default_value' };

export interface ExternalNode extends ExternalKind {
  /** The input that it takes. */
  readonly input: string;
}

/** Undefined for any other node. */
export const externalNode = ({ class_type, inputs }: WorkflowNode): ExternalNode | undefined => {
  const input = inputs['input_id'];
  if (!class_type.startsWith(PREFIX) || typeof input !== 'string') return undefined;
  return { input, ...(KINDS.get(class_type.slice(PREFIX.length)) ?? OTHERS) };
};

/** The nodes that fetch an input by its URL, by the names of the inputs. */
export const fetchingNodes = (workflow: ComfyWorkflow): ReadonlyMap<string, readonly string[]> => {
  const nodes = new Map<string, string[]>();
  for (const [id, node] of Object.entries(workflow)) {
    const external = externalNode(node);
    if (external?.byUrl) nodes.set(external.input, [...(nodes.get(external.input) ?? []), id]);
  }
  return nodes;
};

/** Whether a node takes an input by the name of an uploaded file. */
export const takesName = (workflow: ComfyWorkflow, input: string): boolean =>
  Object.values(workflow).some((node) => {
    const external = externalNode(node);
    return external?.input === input && !external.byUrl;
  });
