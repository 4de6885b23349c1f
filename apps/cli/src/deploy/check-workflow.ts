import { comfyuiNodes } from '@runledger/contracts/catalogue/comfyui-nodes';
import { EXPORT_API, isEditorWorkflow } from '@runledger/contracts/catalogue/editor-workflow';
import { isJsonObject } from '@runledger/contracts/json';
import type { JsonValue } from '@runledger/contracts/json';
import type { Runner } from '@runledger/contracts/runners/runner-kinds';
import { CommandError } from '../output/command-error.ts';

/** @throws CommandError for a workflow in the format of ComfyUI's editor, or that this kind of runner can never execute */
export const checkWorkflow = (workflow: JsonValue, kind: Runner['kind']): void => {
  if (isEditorWorkflow(workflow)) throw new CommandError(`FILE is refused: ${EXPORT_API}.`);
  if (kind !== 'comfyui') return;
  const found = comfyuiNodes(workflow);
  const nodes = isJsonObject(found) ? Object.entries(found) : [];
  const wrong = nodes.find(([, node]) => !isJsonObject(node) || typeof node['class_type'] !== 'string');
  if (nodes.length > 0 && wrong === undefined) return;
  const what = wrong === undefined ? 'It has no nodes.' : `"${wrong[0]}" has no class_type.`;
  throw new CommandError(
    `This is no ComfyUI workflow in API format, an object of nodes with a class_type each. ${what} In ComfyUI choose Workflow, Export (API).`,
  );
};
