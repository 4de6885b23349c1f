import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { MAX_ERROR_NAME } from '@runledger/contracts/limits';
import { basename, join } from 'node:path';
import { inputFiles } from '../../model-server/input-files.ts';
import { serveInputs } from '../../model-server/serve-inputs.ts';
import type { RunnerWork } from '../../../runners/runner.ts';
import type { ServedInput } from '../core/bind-inputs.ts';
import { externalNodes } from '../core/external-nodes.ts';
import { nodeName } from '../core/prompt-error.ts';
import type { ComfyWorkflow } from '../core/workflow.ts';
import { contentName } from './upload-inputs.ts';

/** Files that nodes of a run fetch by URL, until it is disposed. */
export interface FetchedInputs extends AsyncDisposable {
  /** By the names of their inputs. */
  readonly served: ReadonlyMap<string, ServedInput>;
  /**
   * Why the run made something else than it was asked for: a node of it has begun, and nobody has asked for a file of its input. Such a
   * node goes on without it, and without a word.
   */
  readonly unread: (begun: ReadonlySet<string>) => AttemptError | null;
}

/** Serves the files of the inputs that nodes of the workflow fetch themselves. */
export const openFetchedInputs = async (
  workflow: ComfyWorkflow,
  work: Pick<RunnerWork, 'inputDir' | 'inputs' | 'fileInputs'>,
): Promise<FetchedInputs> => {
  const nodes = externalNodes(workflow).filter(([, { byUrl }]) => byUrl);
  const takers = new Set(nodes.map(([, { input }]) => input));
  const files = new Map(
    [...inputFiles(work)].filter(([input, { names }]) => takers.has(input) && names.length > 0),
  );
  if (files.size === 0) return NOTHING;
  const server = await serveInputs(
    work.inputDir,
    [...files.values()].flatMap(({ names }) => names),
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
      for (const [id, { input, keptAs }] of nodes) {
        // One that keeps its file may have it already, and fails aloud when it cannot fetch it.
        if (!begun.has(id) || keptAs !== undefined) continue;
        const unread = files.get(input)?.names.find((name) => !server.wasAsked(name));
        if (unread !== undefined) return unreadBy(nodeName(workflow, id), id, basename(unread));
      }
      return null;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
};

const NOTHING: FetchedInputs = {
  served: new Map(),
  unread: () => null,
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

const unreadBy = (node: string, id: string, file: string): AttemptError =>
  errorOf(
    'input_unavailable',
    `${node} did not fetch ${file}, which is its input. ComfyUI must reach the loopback address of the executor: run it on the same machine, without a network of its own, and with 127.0.0.1 in NO_PROXY where it has a proxy.`,
    { node: id.slice(0, MAX_ERROR_NAME), retryable: false },
  );
