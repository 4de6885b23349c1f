import type { NodeClass } from './node-class.ts';
import type { ServerFile } from './server-outputs.ts';
import type { ComfyWorkflow, WorkflowNode } from './workflow.ts';

/** The folder of one attempt below the output folder of the server. */
export const runFolder = (run_id: string, attempt: number): string => `runledger/${run_id}-${attempt}`;

export const isRunFolder = (path: string): boolean => /^runledger\/[^/]+-\d+$/.test(path);

/**
 * The workflow as this attempt has it. Save nodes have their files in its folder where ComfyUI itself resolves the prefix: no other run
 * can write or replace them, and the server does not take those of an earlier run from its cache. Other output nodes that
 * do not come with ComfyUI name their files as they please: they get an input that no class has, so that they are executed again too.
 */
export const inRunFolder = (
  workflow: ComfyWorkflow,
  folder: string,
  classes: ReadonlyMap<string, NodeClass>,
): ComfyWorkflow =>
  Object.fromEntries(
    Object.entries(workflow).map(([id, node], index, nodes): [string, WorkflowNode] => {
      const known = classes.get(node.class_type);
      const prefix = node.inputs['filename_prefix'];
      const isAnother = nodes.slice(0, index).some(([, { class_type }]) => class_type === node.class_type);
      // The server takes what one output node made as that of another one, where both are given the same.
      const mark = known?.isOutput && isAnother ? { [ATTEMPT_INPUT]: `${folder} ${id}` } : {};
      if (known?.resolvesPrefix && typeof prefix === 'string')
        return [id, withInputs(node, { filename_prefix: `${folder}/${prefix}`, ...mark })];
      if (known?.isOutput && !(known.isBuiltIn && prefix === undefined))
        return [id, withInputs(node, { [ATTEMPT_INPUT]: folder, ...mark })];
      return [id, withInputs(node, mark)];
    }),
  );

const withInputs = (node: WorkflowNode, inputs: WorkflowNode['inputs']): WorkflowNode => ({
  ...node,
  inputs: { ...node.inputs, ...inputs },
});

/** The server's key of what it has cached has all inputs of a node; the node is given those only that its class names. */
const ATTEMPT_INPUT = 'runledger_attempt';

/** Previews have a folder of their own: they may have the names of outputs. */
const TEMPORARY = 'temp';

/**
 * Where a file of the server lies below the output folder of the run: without the folder of the attempt. Null for a name that is
 * not safe here.
 */
export const placeOfFile = (file: ServerFile, folder: string): readonly string[] | null => {
  const parts = file.subfolder.split(/[/\\]/).filter((part) => part !== '' && part !== '.');
  const own = folder.split('/');
  const rest = own.every((part, index) => parts[index] === part) ? parts.slice(own.length) : parts;
  const path = [...(file.type === 'output' ? [] : [TEMPORARY]), ...rest, file.filename];
  return path.every(isSafe) ? path : null;
};

const isSafe = (part: string): boolean =>
  part !== '' && part !== '.' && part !== '..' && !/[/\\\p{Cc}]/u.test(part);
