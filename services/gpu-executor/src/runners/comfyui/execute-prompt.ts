import { errorOf, errorMessage, type AttemptError } from '@runledger/contracts/events/run-error';
import { newUuid } from '@runledger/contracts/ids';
import { untilAborted } from '@runledger/resilience/abort';
import { MAX_WARNINGS, MAX_ERROR_NAME } from '@runledger/contracts/limits';
import { join } from 'node:path';
import { cancelled, failed, type Executed, succeeded } from '../model-server/run-on-server.ts';
import { countOomKills, recentOomKills } from '../output/oom-kills.ts';
import type { RunObserver, RunnerWork, OutputFile } from '../runner.ts';
import { type ExtraData, type ComfyWorkflow, nodeInWorkflow } from './workflow.decide.ts';
import { inRunFolder, runFolder } from './outputs.decide.ts';
import { unreadInput, type Witnesses, uncheckedInputs, withoutWitnesses } from './witnesses.decide.ts';
import type { FetchedInputs } from './upload-inputs.ts';
import {
  followPrompt,
  stopPrompt,
  type Followed,
  type FollowLimits,
  hearPrompt,
  type HeardPrompt,
} from './follow-prompt.ts';
import { sendPrompt, type NewPrompt } from './send-prompt.ts';
import type { ComfyLease } from './comfy-server.ts';
import type { PromptEnd, Span, PromptState } from './prompt-state.decide.ts';
import { nodeError, nodeName } from './prompt-error.decide.ts';
import { fetchOutputs, type FetchedOutputs } from './fetch-outputs.ts';
import type { ProcessEnd } from '../../supervision/supervised-process.ts';
import { endOfServer } from '../model-server/model-server.ts';

export interface PromptLimits extends FollowLimits {
  readonly cancelGraceMs: number;
}

/** A workflow with its inputs and witnesses. */
export interface PreparedWorkflow {
  readonly workflow: ComfyWorkflow;
  /** Also those that the server has no class for. */
  readonly witnesses: Witnesses;
}

export interface PromptTask {
  readonly work: RunnerWork;
  readonly clientId: string;
  readonly prepared: PreparedWorkflow;
  readonly extraData: ExtraData;
  readonly unread: FetchedInputs['unread'];
  readonly limits: PromptLimits;
}

/** Executes a workflow as one prompt, from sending it to fetching what it made. */
export const executePrompt = async (
  lease: ComfyLease,
  { work, clientId, prepared, extraData, unread, limits }: PromptTask,
  observe: RunObserver,
  signal: AbortSignal,
): Promise<Executed> => {
  const { run_id, attempt } = work;
  const prompt: NewPrompt = {
    prompt_id: newUuid(),
    clientId,
    witnesses: prepared.witnesses,
    workflow: inRunFolder(prepared.workflow, runFolder(run_id, attempt), lease.api.knownClasses),
    extraData,
    madeAt: Date.now(),
  };
  const oomKills = recentOomKills();
  using grace = graceAfter(signal, limits.cancelGraceMs);
  using heard = hearPrompt({ api: lease.api, ...prompt, observe });
  const sending: Sending = { lease, prompt, heard, limits, grace: grace.signal };
  const followed = await sendAndFollow(sending, signal);
  switch (followed.kind) {
    case 'ended':
      return await resultOfEnd(
        { lease, work, prompt, end: followed, unread: unread(heard.state().begun) },
        signal,
      );
    case 'stopped':
      return await stop(sending, work);
    case 'refused':
      return await failed(work, followed.error, { isUsable: await isStopped(sending) });
    case 'forgotten':
      return await failed(work, serverError(followed, heard.state()), { isUsable: true });
    case 'unreachable':
      return await failed(work, serverError(followed, heard.state()), { isUsable: false });
    case 'silent': {
      // A last try: a worker that lives heeds it.
      const isUsable = await isStopped(sending);
      const { isOwn } = lease;
      const error = serverError({ kind: 'silent', silenceMs: limits.silenceMs, isOwn }, heard.state());
      return await failed(work, error, { isUsable });
    }
    case 'server_ended': {
      const isMemoryShort = countOomKills() > oomKills;
      return await failed(work, serverError({ ...followed, isMemoryShort }, heard.state()), {
        isUsable: false,
      });
    }
  }
};

interface Sending {
  readonly lease: ComfyLease;
  readonly prompt: NewPrompt;
  readonly heard: HeardPrompt;
  readonly limits: PromptLimits;
  /** Aborted when the time is over that a stopped run has. */
  readonly grace: AbortSignal;
}

const sendAndFollow = async (
  { lease, prompt, heard, limits, grace }: Sending,
  signal: AbortSignal,
): Promise<Followed | { readonly kind: 'refused'; readonly error: AttemptError }> => {
  await untilAborted(heard.opened, signal);
  if (signal.aborted) return { kind: 'stopped' };
  const giveUp = AbortSignal.any([grace, lease.gone, AbortSignal.timeout(limits.unreachableMs)]);
  // Also when it is cancelled meanwhile: what the server has must be stopped there.
  const sent = await untilAborted(
    sendPrompt(lease.api, prompt, giveUp),
    AbortSignal.any([grace, lease.gone]),
  );
  if (lease.gone.aborted) return { kind: 'server_ended', end: await lease.ended };
  if (signal.aborted || sent === undefined) return { kind: 'stopped' };
  if (sent.kind !== 'sent') return sent;
  const followed = await followPrompt(lease, heard, limits, AbortSignal.any([signal, heard.hopeless]));
  const { workflow, witnesses } = prompt;
  const error = signal.aborted ? null : unreadInput(workflow, witnesses, heard.state().outputs);
  return followed.kind === 'stopped' && error !== null ? { kind: 'refused', error } : followed;
};

const stop = async ({ lease, prompt, grace }: Sending, work: RunnerWork): Promise<Executed> => {
  const stopped = await stopPrompt(lease, prompt.prompt_id, AbortSignal.any([grace, lease.gone]));
  if (stopped?.kind === 'ended') {
    await resultOfEnd({ lease, work, prompt, end: stopped, unread: null }, grace);
    return { result: await cancelled(work, false), isUsable: true };
  }
  return {
    result: await cancelled(work, stopped === null && !lease.gone.aborted),
    isUsable: stopped !== null,
  };
};

/** Whether the server does not execute the prompt any more, or can be stopped from it. */
const isStopped = async ({ lease, prompt: { prompt_id }, limits }: Sending): Promise<boolean> => {
  const stopped = await stopPrompt(lease, prompt_id, AbortSignal.timeout(limits.cancelGraceMs));
  if (stopped?.kind === 'ended') await lease.api.post('history', { delete: [prompt_id] });
  return stopped !== null;
};

interface EndedPrompt {
  readonly lease: ComfyLease;
  readonly work: RunnerWork;
  readonly prompt: NewPrompt;
  readonly end: PromptEnd;
  /** A file that the run was to use, and did not. */
  readonly unread: AttemptError | null;
}

/** Fetches what a prompt made, and removes its entry: the server keeps 10,000 of them in memory. */
const resultOfEnd = async (
  { lease, work, prompt, end, unread }: EndedPrompt,
  signal: AbortSignal,
): Promise<Executed> => {
  const folder = runFolder(work.run_id, work.attempt);
  const { witnesses } = prompt;
  const { span } = end;
  const workflow = withoutWitnesses(prompt.workflow, witnesses);
  const outputs = withoutWitnesses(end.outputs, witnesses);
  const target = { outputDir: work.outputDir, folder, span: span ?? (lease.isOwn ? since(prompt) : null) };
  const fetched = await fetchOutputs(lease.api, { workflow, outputs }, target, signal);
  await lease.api.post('history', { delete: [prompt.prompt_id] });
  if (signal.aborted) return { result: await cancelled(work, false), isUsable: true };
  const nothing = unreadInput(workflow, witnesses, end.outputs);
  const error = nothing ?? errorOfEnd(end, prompt) ?? unread ?? fetched.error;
  const warnings = [...uncheckedInputs(witnesses, end.outputs), ...fetched.warnings].slice(0, MAX_WARNINGS);
  return withNodes(
    error === null ? await succeeded(work, {}) : await failed(work, error, { isUsable: true }),
    { ...fetched, warnings },
  );
};

/** Nobody else has a server of the executor's own. */
const since = ({ madeAt }: NewPrompt): Span => ({ from: madeAt, to: Date.now() });

/** The result with what is known of the nodes that made it. */
const withNodes = ({ result, isUsable }: Executed, { makers, nodes, warnings }: FetchedOutputs): Executed => {
  if (result.outcome === 'not_runnable') return { result, isUsable };
  const files = result.files.map((file): OutputFile => {
    const node = makers.get(join(file.subfolder, file.filename));
    return node === undefined ? file : { ...file, node };
  });
  if (result.outcome !== 'succeeded') return { result: { ...result, files }, isUsable };
  const odd = warnings.length === 0 ? {} : { warnings };
  return { result: { ...result, files, nodes, ...odd }, isUsable };
};

const errorOfEnd = ({ end }: PromptEnd, { workflow }: NewPrompt): AttemptError | null => {
  switch (end.kind) {
    case 'succeeded':
      return null;
    case 'failed':
      return nodeError(workflow, end.failure);
    case 'interrupted':
      return errorOf('execution_error', 'Somebody interrupted the run at the ComfyUI server itself.');
  }
};

/** What went wrong with a server while it had a prompt. */
export type ServerFailure =
  | { readonly kind: 'server_ended'; readonly end: ProcessEnd; readonly isMemoryShort: boolean }
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'unreachable'; readonly why: string }
  | { readonly kind: 'silent'; readonly silenceMs: number; readonly isOwn: boolean };

/** The error of the run whose prompt the server had. */
export const serverError = (
  failure: ServerFailure,
  { workflow, current }: Pick<PromptState, 'workflow' | 'current'>,
): AttemptError => {
  const id = current === null ? undefined : nodeInWorkflow(workflow, current);
  const where = id === undefined ? '' : `At ${nodeName(workflow, id)}: `;
  const node = id === undefined ? {} : { node: id.slice(0, MAX_ERROR_NAME) };
  const { kind, what } = whatHappened(failure);
  return errorOf(kind, errorMessage(`${where}${what}`), node);
};

const whatHappened = (failure: ServerFailure): ReturnType<typeof endOfServer> => {
  if (failure.kind !== 'server_ended') return { kind: 'crashed', what: whatIsWrong(failure) };
  const { kind, what } = endOfServer('ComfyUI', failure.end, failure.isMemoryShort);
  return { kind, what: kind === 'crashed' ? `${what} What it wrote last is in the log of the run.` : what };
};

const whatIsWrong = (failure: Exclude<ServerFailure, { readonly kind: 'server_ended' }>): string => {
  switch (failure.kind) {
    case 'forgotten':
      return 'ComfyUI does not know the run any more: it was started again, or somebody deleted the run there.';
    case 'unreachable':
      return `ComfyUI does not answer any more (${failure.why}).`;
    case 'silent':
      return (
        `ComfyUI has not shown for ${failure.silenceMs / 1_000} seconds that it works, although it answers: a node may have ended the thread that executes workflows. ` +
        (failure.isOwn
          ? 'It is started again. A node that takes longer needs a larger EXECUTOR_COMFYUI_SILENCE_S.'
          : 'Start it again. A node that takes longer needs a larger EXECUTOR_COMFYUI_SILENCE_S.')
      );
  }
};

/** Aborted so many milliseconds after another signal. */
const graceAfter = (signal: AbortSignal, graceMs: number): Disposable & { readonly signal: AbortSignal } => {
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    timer = setTimeout(() => over.abort(), graceMs);
  };
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  return {
    signal: over.signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', begin);
    },
  };
};
