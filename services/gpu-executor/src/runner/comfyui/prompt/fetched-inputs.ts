import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { MAX_ERROR_NAME } from '@runledger/contracts/limits';
import { join } from 'node:path';
import { inputFiles } from '../../model-server/input-files.ts';
import { serveInputs } from '../../model-server/serve-inputs.ts';
import type { RunnerWork } from '../../runner.ts';
import type { ServedInput } from '../core/bind-inputs.ts';
import { fetchingNodes } from '../core/external-nodes.ts';
import { nodeName } from '../core/prompt-error.ts';
import type { ComfyWorkflow } from '../core/workflow.ts';
import { contentName } from './upload-inputs.ts';

/** Files that nodes of a run fetch by URL, until it is disposed. */
export interface FetchedInputs extends AsyncDisposable {
  /** By the names of their inputs. */
  readonly served: ReadonlyMap<string, ServedInput>;
  /**
   * Why the run made something else than it was asked for: a node of it has begun, and nobody has asked for a file. Such a node takes its
   * default without a word.
   */
  readonly unread: (begun: ReadonlySet<string>) => AttemptError | null;
}

/** Serves the files of the inputs that nodes of the workflow fetch themselves. */
export const openFetchedInputs = async (
  workflow: ComfyWorkflow,
  work: Pick<RunnerWork, 'inputDir' | 'inputs' | 'fileInputs'>,
): Promise<FetchedInputs> => {
  const nodes = fetchingNodes(workflow);
  const files = [...inputFiles(work)].filter(([input, { names }]) => nodes.has(input) && names.length > 0);
  if (files.length === 0) return NOTHING;
  const server = await serveInputs(
    work.inputDir,
    files.flatMap(([, { names }]) => names),
  );
  const served = new Map<string, ServedInput>();
  for (const [input, { names, isList }] of files) {
    const [first = ''] = names;
    const url = isList ? names.map((name) => server.urlOf(name)) : server.urlOf(first);
    served.set(input, { url, contentName: await contentName(join(work.inputDir, first)) });
  }
  return {
    served,
    unread: (begun) => {
      const id = [...served.keys()]
        .flatMap((input) => nodes.get(input) ?? [])
        .find((node) => begun.has(node));
      return id === undefined || server.wasAsked() ? null : unreadBy(workflow, id);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
};

const NOTHING: FetchedInputs = {
  served: new Map(),
  unread: () => null,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

const unreadBy = (workflow: ComfyWorkflow, id: string): AttemptError =>
  errorOf(
    'input_unavailable',
    `${nodeName(workflow, id)} did not fetch the file of its input, and took its default instead. ComfyUI must reach the loopback address of the executor: run it on the same machine, without a network of its own, and with 127.0.0.1 in NO_PROXY where it has a proxy.`,
    { node: id.slice(0, MAX_ERROR_NAME), retryable: false },
  );
