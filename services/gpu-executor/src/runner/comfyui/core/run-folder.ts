import type { ServerFile } from './server-outputs.ts';
import type { ComfyWorkflow, WorkflowNode } from './workflow.ts';

/** The folder of one attempt below the output folder of the server. */
export const runFolder = (run_id: string, attempt: number): string => `runledger/${run_id}-${attempt}`;

/**
 * The workflow with the files of its save nodes in a folder of this attempt: no other run can write or replace them, and the
 * server does not take those of an earlier run from its cache.
 */
export const inRunFolder = (workflow: ComfyWorkflow, folder: string): ComfyWorkflow =>
  Object.fromEntries(
    Object.entries(workflow).map(([id, node]): [string, WorkflowNode] => {
      const prefix = node.inputs['filename_prefix'];
      if (typeof prefix !== 'string') return [id, node];
      return [id, { ...node, inputs: { ...node.inputs, filename_prefix: `${folder}/${prefix}` } }];
    }),
  );

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
