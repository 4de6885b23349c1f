import { errorMessage } from '@runledger/contracts/events/error-message';
import { isJsonObject } from '@runledger/contracts/json';
import type { RunWarning } from '@runledger/contracts/warnings/run-warning';
import { MAX_ERROR_NAME, MAX_WARNING_MESSAGE, MAX_WARNINGS } from '@runledger/contracts/limits';
import type { NodeClass } from './node-class.ts';
import { nodeName } from './prompt-error.ts';
import type { NodeOutputs } from './server-outputs.ts';
import { nodeInWorkflow, type ComfyWorkflow } from './workflow.ts';

/** What a prompt says it has made. */
export interface SaidOutputs {
  readonly workflow: ComfyWorkflow;
  readonly classes: ReadonlyMap<string, NodeClass>;
  /** As the history has them. */
  readonly outputs: Readonly<Record<string, unknown>>;
  readonly read: readonly NodeOutputs[];
}

/** The output nodes that named neither a file nor a value. Some may have made one all the same. */
export const silentNodes = ({ workflow, classes, read }: SaidOutputs): string[] => {
  const speaking = new Set(
    read
      .filter(({ data, namesFiles }) => namesFiles || Object.values(data).some((values) => values.length > 0))
      .map(({ node }) => nodeInWorkflow(workflow, node)),
  );
  return Object.keys(workflow).filter(
    (id) => classes.get(workflow[id]?.class_type ?? '')?.isOutput && !speaking.has(id),
  );
};

/**
 * Warnings about output nodes that made nothing, although they are there to make something: they have a prefix for the names of
 * files, or named an empty list of files. Where no output node made anything, about all of them.
 */
export const warningsOf = (said: SaidOutputs, silent: readonly string[], isSeen: boolean): RunWarning[] => {
  const { workflow, read } = said;
  const isEmpty = read.every(({ node }) => silent.includes(nodeInWorkflow(workflow, node)));
  const missing = silent.filter(
    (id) => isEmpty || 'filename_prefix' in (workflow[id]?.inputs ?? {}) || namesNoFiles(said.outputs[id]),
  );
  const named = missing.slice(0, missing.length > MAX_WARNINGS ? MAX_WARNINGS - 1 : MAX_WARNINGS);
  const others = missing.slice(named.length);
  const about = (whom: string, id: string): RunWarning => ({
    kind: 'no_output',
    message: errorMessage(`${whom} made no output. ${isSeen ? SEEN : UNSEEN}`, MAX_WARNING_MESSAGE),
    node: id.slice(0, MAX_ERROR_NAME),
  });
  return [
    ...named.map((id) => about(nodeName(workflow, id), id)),
    ...others
      .slice(0, 1)
      .map((id) => about(`Each of ${others.length} other nodes (${others.join(', ')})`, id)),
  ];
};

const SEEN =
  'The server reports no error, and no file of it is in the output folder. The log of the server may say why.';
const UNSEEN =
  'The server reports no error. This executor does not see the output folder of the server, so files that a node does not name are not found: the member `output` of EXECUTOR_COMFYUI says where it is.';

/** Kinds of files, as nodes call them. */
const FILE_KINDS = [
  'images',
  'gifs',
  'video',
  'videos',
  'audio',
  'files',
  'text_file',
  'latents',
  '3d',
  'mesh',
];

const namesNoFiles = (output: unknown): boolean =>
  isJsonObject(output) && FILE_KINDS.some((kind) => Array.isArray(output[kind]));
