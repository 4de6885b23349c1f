import { isJsonObject } from '../json.ts';

/**
 * What may be the nodes of a workflow for ComfyUI, by their ids. It is in the API format, or it is the body that ComfyUI's page sends: that has
 * them as `prompt`, beside the workflow of the editor.
 */
export const comfyuiNodes = (workflow: unknown): unknown =>
  isJsonObject(workflow) && isJsonObject(workflow['prompt']) && !('class_type' in workflow['prompt'])
    ? workflow['prompt']
    : workflow;
