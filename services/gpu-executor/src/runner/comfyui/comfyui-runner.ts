import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { untilAborted } from '@runledger/resilience/abort';
import type { RunObserver, RunResult, Runner, RunnerWork } from '../runner.ts';
import { bindInputs } from './core/bind-inputs.ts';
import { newClientId } from './core/client-id.ts';
import { readWorkflow, type ComfyWorkflow } from './core/workflow.ts';
import { executePrompt, type PromptLimits } from './execute-prompt.ts';
import type { Executed } from './prompt-result.ts';
import { missingNodes } from './prompt/send-prompt.ts';
import { serverError } from './prompt/server-error.ts';
import { stopLeftovers } from './prompt/stop-leftovers.ts';
import { uploadInputs } from './prompt/upload-inputs.ts';
import type { ComfyServer, ServerLease } from './server/comfy-server.ts';

export interface ComfyuiRunnerSettings {
  readonly executorName: string;
  /** By the index of their slot. */
  readonly servers: ReadonlyMap<number, ComfyServer>;
  readonly limits: PromptLimits;
  readonly log: { warn(fields: object, message: string): void };
}

/** Runs a workflow as one prompt of the ComfyUI server of its slot. */
export const comfyuiRunner = ({ executorName, servers, limits, log }: ComfyuiRunnerSettings): Runner => ({
  run: async (work, observe, signal) => {
    const read = readWorkflow(work.workflow);
    if (read.kind === 'not_one') return failed(errorOf('invalid_inputs', read.why));
    const server = servers.get(work.slot.index);
    if (server === undefined) {
      const why = `EXECUTOR_COMFYUI of the executor has no server for slot ${work.slot.index}.`;
      return { outcome: 'not_runnable', why };
    }
    if (isElsewhere(work.choice, server.url)) return { outcome: 'not_runnable', why: ELSEWHERE };
    const acquired = await server.acquire((line) => observe.log(line), signal);
    if (acquired.kind === 'cancelled') return CANCELLED;
    if (acquired.kind === 'refused') return failed(acquired.error);
    const { lease } = acquired;
    const { result, isUsable } = await onServer(
      lease,
      { executorName, work, workflow: read.workflow, limits },
      observe,
      signal,
    );
    if (isUsable) await lease.release();
    else {
      const { run_id, slot } = work;
      log.warn(
        { run_id, slot: slot.index, outcome: result.outcome },
        'a ComfyUI server cannot be used further',
      );
      await lease.discard();
    }
    return result;
  },
});

/** The address in a machine's record is a wish: an executor requests no address that its operator did not give it. */
const isElsewhere = (choice: RunnerWork['choice'], own: URL): boolean => {
  if (choice.kind !== 'comfyui' || choice.url === undefined) return false;
  const wanted = URL.parse(choice.url)?.href;
  return wanted !== own.href && `${wanted}/` !== own.href;
};

const ELSEWHERE =
  'The machine names another ComfyUI server than the one that EXECUTOR_COMFYUI of the executor has for this slot. ' +
  'Remove the URL of the machine, or let only the executor of that server serve it (EXECUTOR_MACHINES).';

const CANCELLED: RunResult = { outcome: 'cancelled', forced: false, files: [] };

interface Task {
  readonly executorName: string;
  readonly work: RunnerWork;
  readonly workflow: ComfyWorkflow;
  readonly limits: PromptLimits;
}

const onServer = async (
  lease: ServerLease,
  task: Task,
  observe: RunObserver,
  signal: AbortSignal,
): Promise<Executed> => {
  const asItWas = (result: RunResult): Executed => ({ result, isUsable: true });
  if (signal.aborted || !(await observe.begin(lease.loadingMs))) return asItWas(CANCELLED);
  const prepared = await untilAborted(prepare(lease, task, observe), AbortSignal.any([signal, lease.gone]));
  if (signal.aborted) return asItWas(CANCELLED);
  if (prepared === undefined) {
    const end = { kind: 'server_ended', end: await lease.ended, isMemoryShort: false } as const;
    return { result: failed(serverError(end, { workflow: task.workflow, current: null })), isUsable: false };
  }
  if (prepared.kind === 'failed') return asItWas(failed(prepared.error));
  const { executorName, work, limits } = task;
  if (!lease.isOwn) {
    const grace = AbortSignal.timeout(limits.cancelGraceMs);
    await stopLeftovers(lease.api, executorName, AbortSignal.any([grace, signal]));
  }
  const clientId = newClientId(executorName, work);
  return executePrompt(lease, { work, clientId, workflow: prepared.workflow, limits }, observe, signal);
};

type Prepared =
  | { readonly kind: 'prepared'; readonly workflow: ComfyWorkflow }
  | { readonly kind: 'failed'; readonly error: AttemptError };

/** Checks that the server has the nodes of the workflow, and writes the inputs into them. */
const prepare = async (
  lease: ServerLease,
  { work, workflow }: Task,
  observe: RunObserver,
): Promise<Prepared> => {
  const missing = await missingNodes(lease, workflow);
  if (missing !== null) return { kind: 'failed', error: missing };
  const uploaded = await uploadInputs(lease.api, work);
  if (uploaded.kind === 'failed') return uploaded;
  const bound = bindInputs(workflow, uploaded.inputs, work.inputTargets);
  if (bound.kind === 'no_such_node') return { kind: 'failed', error: noSuchNode(bound.input, bound.node) };
  for (const input of bound.unbound)
    observe.log({ stream: 'runner', line: `No node of the workflow takes the input "${input}".` });
  return { kind: 'prepared', workflow: bound.workflow };
};

const failed = (error: AttemptError): RunResult => ({ outcome: 'failed', error, files: [] });

const noSuchNode = (input: string, node: string): AttemptError =>
  errorOf(
    'invalid_inputs',
    `The input "${input}" is for node ${node}, which the workflow does not have. Create a version whose inputs name its nodes.`,
    { node },
  );
