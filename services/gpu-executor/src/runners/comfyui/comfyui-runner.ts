import type { Logger } from '@runledger/event-log/connect/observability';
import { seconds } from '@runledger/service-kit/config-schemas';
import { Type } from 'typebox';
import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { MAX_ERROR_NAME } from '@runledger/contracts/limits';
import { untilAborted } from '@runledger/resilience/abort';
import type { RunnerType } from '../runner-type.ts';
import { openComfyServer, readServers, type ComfyLease, type ComfyServer } from './comfy-server.ts';
import { cancelled, failed, type Executed, runOnServer } from '../model-server/run-on-server.ts';
import type { RunObserver, Runner, RunnerWork } from '../runner.ts';
import { bindInputs, type BoundWorkflow, acceptsInput } from './bind-inputs.decide.ts';
import {
  extraData,
  openCredentials,
  withoutCredentials,
  readWorkflow,
  type ComfyWorkflow,
  type PngInfo,
} from './workflow.decide.ts';
import { nodeName } from './prompt-error.decide.ts';
import { withUnreadInput, WITNESS, withWitnesses, witnessesOf } from './witnesses.decide.ts';
import { executePrompt, type PreparedWorkflow, type PromptLimits, serverError } from './execute-prompt.ts';
import { openFetchedInputs, type FetchedInputs, unreadablePicture, uploadInputs } from './upload-inputs.ts';
import { findClass, missingNodes } from './send-prompt.ts';
import type { ComfyApi } from './comfy-api.ts';
import { readQueue } from './prompt-state.decide.ts';
import { stopPrompt } from './follow-prompt.ts';

/** Of all servers, whoever starts them. */
export const COMFYUI_SILENCE_S = seconds({
  default: 900,
  minimum: 1,
  maximum: 86_400,
  description:
    'how long a ComfyUI server that executes a run may give no sign of it, such as a step; then it counts as dead',
});

const settings = {
  EXECUTOR_COMFYUI: Type.String({
    default: '[]',
    description:
      'the ComfyUI server of each slot as JSON: [{"url", "command"?, "args"?, "env"?, "cwd"?}, …]; with a command the executor starts it',
  }),
  EXECUTOR_COMFYUI_START_TIMEOUT_S: seconds({
    default: 300,
    minimum: 1,
    maximum: 86_400,
    description: 'how long a ComfyUI server may not answer, after its start or later',
  }),
  EXECUTOR_COMFYUI_SILENCE_S: COMFYUI_SILENCE_S,
};

/** The ComfyUI servers of this executor, one for each slot. No record of a tenant names their addresses. */
export const comfyuiRunnerType: RunnerType<typeof settings> = {
  kind: 'comfyui',
  settings,
  configure: async (
    { EXECUTOR_COMFYUI, EXECUTOR_COMFYUI_START_TIMEOUT_S, EXECUTOR_COMFYUI_SILENCE_S },
    { PATH = '', slots },
  ) => {
    const read = await readServers(EXECUTOR_COMFYUI, PATH, slots.length);
    if (!read.ok) return { problems: read.problems };
    const { servers } = read;
    const startTimeoutMs = EXECUTOR_COMFYUI_START_TIMEOUT_S * 1_000;
    return {
      kind: 'comfyui',
      capabilities: { programs: servers.length > 0 ? ['runner:comfyui'] : [] },
      entries: servers.flatMap(({ command }, index) =>
        command === null ? [] : [{ name: `the ComfyUI server ${index}`, command, organisations: null }],
      ),
      open: ({ executorName, residents, slots: open, cancelGraceMs, log }) => ({
        ...comfyuiRunner({
          executorName,
          servers: new Map(
            open.flatMap((slot, index) => {
              const entry = servers[index];
              return entry
                ? [[slot.index, openComfyServer(entry, slot, residents, startTimeoutMs)] as const]
                : [];
            }),
          ),
          limits: {
            cancelGraceMs,
            silenceMs: EXECUTOR_COMFYUI_SILENCE_S * 1_000,
            unreachableMs: startTimeoutMs,
          },
          log,
        }),
        outputId: () => 'comfyui',
      }),
    };
  },
};

interface ComfyuiRunnerSettings {
  readonly executorName: string;
  /** By the index of their slot. */
  readonly servers: ReadonlyMap<number, ComfyServer>;
  readonly limits: PromptLimits;
  readonly log: Logger;
}

/** Runs a workflow as one prompt of the ComfyUI server of its slot. */
export const comfyuiRunner = ({ executorName, servers, limits, log }: ComfyuiRunnerSettings): Runner => ({
  run: async (work, observe, signal) => {
    const read = readWorkflow(work.workflow);
    if (read.kind === 'not_one')
      return { outcome: 'failed', error: errorOf('invalid_inputs', read.why), files: [] };
    const server = servers.get(work.slot.index);
    if (server === undefined) {
      const why = `EXECUTOR_COMFYUI of the executor has no server for slot ${work.slot.index}.`;
      return { outcome: 'not_runnable', why };
    }
    if (isElsewhere(work.choice, server.url)) return { outcome: 'not_runnable', why: ELSEWHERE };
    const { workflow, pngInfo } = read;
    const task = { executorName, work, workflow, pngInfo, limits };
    return runOnServer(
      { server, title: 'ComfyUI', work, observe, log },
      (lease, shown) => onServer(lease, task, shown, signal),
      signal,
    );
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

interface Task {
  readonly executorName: string;
  readonly work: RunnerWork;
  readonly workflow: ComfyWorkflow;
  readonly pngInfo: PngInfo | undefined;
  readonly limits: PromptLimits;
}

const onServer = async (
  lease: ComfyLease,
  task: Task,
  observe: RunObserver,
  signal: AbortSignal,
): Promise<Executed> => {
  const { executorName, work, workflow, pngInfo, limits } = task;
  await using fetched = await openFetchedInputs(workflow, work);
  const prepared = await untilAborted(
    prepare(lease.api, task, fetched, observe),
    AbortSignal.any([signal, lease.gone]),
  );
  if (signal.aborted) return { result: await cancelled(work, false), isUsable: true };
  if (prepared === undefined) {
    const end = { kind: 'server_ended', end: await lease.ended, isMemoryShort: false } as const;
    return failed(work, serverError(end, { workflow, current: null }), { isUsable: false });
  }
  if (prepared.kind === 'failed') return failed(work, prepared.error, { isUsable: true });
  if (!lease.isOwn) {
    const grace = AbortSignal.timeout(limits.cancelGraceMs);
    await stopLeftovers(lease.api, executorName, AbortSignal.any([grace, signal]));
  }
  const clientId = newClientId(executorName, work);
  const { unread } = fetched;
  const executed = await executePrompt(
    lease,
    { work, clientId, prepared, extraData: extraData(work, pngInfo), unread, limits },
    observe,
    signal,
  );
  const { result } = executed;
  if (result.outcome !== 'failed') return executed;
  return { ...executed, result: { ...result, error: withUnreadInput(workflow, work.inputs, result.error) } };
};

type Prepared =
  | ({ readonly kind: 'prepared' } & PreparedWorkflow)
  | { readonly kind: 'failed'; readonly error: AttemptError };

/** Checks that the server has the nodes of the workflow, and writes the inputs into them. */
const prepare = async (
  api: ComfyApi,
  { work, workflow }: Task,
  { served }: FetchedInputs,
  observe: RunObserver,
): Promise<Prepared> => {
  const open = openCredentials(work);
  if (open !== null) return { kind: 'failed', error: open };
  const missing = await missingNodes(api, workflow);
  if (missing !== null) return { kind: 'failed', error: missing };
  const unreadable = await unreadablePicture(api, workflow, work);
  if (unreadable !== null) return { kind: 'failed', error: unreadable };
  const uploaded = await uploadInputs(
    api,
    work,
    (input) => work.inputTargets.some(({ name }) => name === input) || acceptsInput(workflow, input),
  );
  if (uploaded.kind === 'failed') return uploaded;
  const bound = bindInputs(
    workflow,
    { inputs: withoutCredentials(uploaded.inputs), served },
    work.inputTargets,
  );
  if (bound.kind === 'no_such_node') return { kind: 'failed', error: noSuchNode(bound.input, bound.node) };
  if (bound.kind === 'not_taken') return { kind: 'failed', error: notAccepted(workflow, bound) };
  for (const input of bound.unbound)
    observe.log({ stream: 'runner', line: `No node of the workflow takes the input "${input}".` });
  const witnesses = witnessesOf(workflow, bound.workflow, work.inputs);
  const canTell = witnesses.size > 0 && (await hasWitness(api));
  return {
    kind: 'prepared',
    workflow: canTell ? withWitnesses(bound.workflow, witnesses) : bound.workflow,
    witnesses,
  };
};

/** Whether the server has the class, and it is ComfyUI's own. */
const hasWitness = async (api: ComfyApi): Promise<boolean> => {
  const found = await findClass(api, WITNESS);
  return typeof found === 'object' && found.isOutput && found.isBuiltIn;
};

const notAccepted = (
  workflow: ComfyWorkflow,
  { input, node, why }: Extract<BoundWorkflow, { kind: 'not_taken' }>,
): AttemptError =>
  errorOf('invalid_inputs', `${nodeName(workflow, node)} does not take the input "${input}". ${why}`, {
    node: node.slice(0, MAX_ERROR_NAME),
  });

const noSuchNode = (input: string, node: string): AttemptError =>
  errorOf(
    'invalid_inputs',
    `The input "${input}" is for node ${node}, which the workflow does not have. Create a version whose inputs name its nodes.`,
    { node },
  );

/**
 * Stops what this executor left at a server that runs anyway, such as before it was killed: nobody waits for it, and the next run
 * would wait behind it. Gives up at the deadline, for a node may be deaf.
 */
const stopLeftovers = async (api: ComfyApi, executorName: string, deadline: AbortSignal): Promise<void> => {
  const answer = await api.get('queue');
  const queued = answer.kind === 'answered' ? readQueue(answer.text) : [];
  const left = queued.filter(({ client_id }) => isClientOf(executorName, client_id));
  await Promise.all(left.map(({ prompt_id }) => stopPrompt({ api }, prompt_id, deadline)));
};

/** Its own for each attempt, so that nobody else is told of it. A later process of this executor knows whose it was. */
const newClientId = (executorName: string, work: RunnerWork): string =>
  `${prefixOf(executorName)}${work.run_id}-${work.attempt}`;

const isClientOf = (executorName: string, clientId: string): boolean =>
  clientId.startsWith(prefixOf(executorName));

/** A name has no point. */
const prefixOf = (executorName: string): string => `runledger.${executorName}.`;
