import { isJsonObject } from '../json.ts';

/**
 * What may be the nodes of a workflow for ComfyUI, by their ids. It is in the API format, or it is the body that ComfyUI's page sends: that has
 * them as `prompt`, beside the workflow of the editor. Or it is a manifest of code, which has one of these.
 */
export const comfyuiNodes = (given: unknown): unknown => {
  const workflow = isManifest(given) ? given.comfyui.workflow : given;
  return isJsonObject(workflow) && isJsonObject(workflow['prompt']) && !('class_type' in workflow['prompt'])
    ? workflow['prompt']
    : workflow;
};

/** `code_sha256` of a node would be an object. */
const isManifest = (given: unknown): given is { readonly comfyui: Readonly<Record<string, unknown>> } =>
  isJsonObject(given) && typeof given['code_sha256'] === 'string' && isJsonObject(given['comfyui']);

/** Whether a workflow is one as ComfyUI's editor saves it, which its server does not execute: lists of nodes and of the links between them. */
export const isEditorWorkflow = (workflow: unknown): boolean => {
  if (!isJsonObject(workflow)) return false;
  const { nodes, links } = workflow;
  if (!Array.isArray(nodes) || !Array.isArray(links)) return false;
  if (nodes.length === 0) return 'last_node_id' in workflow || 'state' in workflow;
  return nodes.every((node) => isJsonObject(node) && 'id' in node && typeof node['type'] === 'string');
};

/** What to do about it. */
export const EXPORT_API =
  "this is a workflow as ComfyUI's editor saves it, and its server executes the API format. In ComfyUI choose Workflow, Export (API), and use that file";
