import { isJsonObject } from '@runledger/contracts/json';
import { errorMessage } from '@runledger/contracts/events/run-error';
import type { RunWarning } from '@runledger/contracts/events/run-warning';
import { MAX_ERROR_NAME, MAX_WARNING_MESSAGE, MAX_WARNINGS } from '@runledger/contracts/limits';
import { dataText } from '../output/program-messages.ts';
import type { RunData } from '../runner.ts';
import { type NodeClass, nodeInWorkflow, type ComfyWorkflow, type WorkflowNode } from './workflow.decide.ts';
import { nodeName } from './prompt-error.decide.ts';

/** A file that a node made, by the names that `/view` wants. */
/** A file in a folder of the server. */
export interface FolderFile {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: string;
}

export interface ServerFile extends FolderFile {
  readonly node: string;
}

/** What one node made. */
export interface NodeOutputs {
  /** Its id, as the server says it. */
  readonly node: string;
  /** What the node calls its output, as those of ComfyUI Deploy do. */
  readonly output_id: string | null;
  readonly data: RunData;
  /** Each once, also when several nodes name it: then it is one of the first. */
  readonly files: readonly ServerFile[];
  /** Also a file that is one of another node. */
  readonly namesFiles: boolean;
}

/** Says that a file is a film; the file's own name tells. */
const ABOUT_FILES = 'animated';

/**
 * What the nodes of a prompt made: files under any kind, and all other values as the data of the run has them. The order in which the server lists
 * its nodes differs from run to run; here it is that of their ids.
 */
export const readOutputs = (outputs: Readonly<Record<string, unknown>>): NodeOutputs[] => {
  const known = new Set<string>();
  return Object.entries(outputs)
    .toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .flatMap(([node, output]) => (isJsonObject(output) ? [readNode(node, output, known)] : []));
};

const readNode = (node: string, output: Record<string, unknown>, known: Set<string>): NodeOutputs => {
  const data = new Map<string, string[]>();
  const files: ServerFile[] = [];
  let output_id: string | null = null;
  let namesFiles = false;
  for (const [kind, items] of Object.entries(output)) {
    if (kind === ABOUT_FILES) continue;
    for (const item of Array.isArray(items) ? (items as unknown[]) : [items]) {
      const file = isJsonObject(item) ? readFile(node, item) : undefined;
      if (file === undefined)
        data.set(kindOf(kind), [...(data.get(kindOf(kind)) ?? []), dataText(kindOf(kind), item)]);
      // What a node takes from the input folder is no output.
      else if (file.type !== 'input' && !known.has(keyOf(file))) {
        known.add(keyOf(file));
        files.push(file);
      }
      namesFiles ||= file !== undefined && file.type !== 'input';
      if (file && isJsonObject(item) && typeof item['output_id'] === 'string')
        output_id ??= item['output_id'];
    }
  }
  return { node, output_id, data: Object.fromEntries(data), files, namesFiles };
};

const keyOf = ({ type, subfolder, filename }: ServerFile): string => `${type}\n${subfolder}\n${filename}`;

const readFile = (node: string, item: Record<string, unknown>): ServerFile | undefined => {
  const { filename, subfolder = '', type = 'output' } = item;
  return typeof filename === 'string' && typeof subfolder === 'string' && typeof type === 'string'
    ? { node, filename, subfolder, type }
    : undefined;
};

const MAX_KIND_LENGTH = 64;
const kindOf = (kind: string): string => kind.toWellFormed().slice(0, MAX_KIND_LENGTH) || 'text';

/** What a prompt made, as the history has it. */
export interface PromptOutputs {
  readonly workflow: ComfyWorkflow;
  readonly outputs: Readonly<Record<string, unknown>>;
}

/** The same, read. */
export interface ReadOutputs extends PromptOutputs {
  readonly classes: ReadonlyMap<string, NodeClass>;
  readonly read: readonly NodeOutputs[];
}

/** The output nodes that named neither a file nor a value. Some may have made one all the same. */
export const silentNodes = ({ workflow, classes, read }: ReadOutputs): string[] => {
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
export const warningsOf = (made: ReadOutputs, silent: readonly string[], isSeen: boolean): RunWarning[] => {
  const { workflow, read } = made;
  const isEmpty = read.every(({ node }) => silent.includes(nodeInWorkflow(workflow, node)));
  const missing = silent.filter(
    (id) => isEmpty || 'filename_prefix' in (workflow[id]?.inputs ?? {}) || namesNoFiles(made.outputs[id]),
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
export const pathOfFile = (file: ServerFile, folder: string): readonly string[] | null => {
  const parts = file.subfolder.split(/[/\\]/).filter((part) => part !== '' && part !== '.');
  const own = folder.split('/');
  const rest = own.every((part, index) => parts[index] === part) ? parts.slice(own.length) : parts;
  const path = [...(file.type === 'output' ? [] : [TEMPORARY]), ...rest, file.filename];
  return path.every(isSafe) ? path : null;
};

const isSafe = (part: string): boolean =>
  part !== '' && part !== '.' && part !== '..' && !/[/\\\p{Cc}]/u.test(part);
