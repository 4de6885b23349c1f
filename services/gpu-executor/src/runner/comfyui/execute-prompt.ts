import type { AttemptError } from '@runledger/contracts/events/run-error';
import { newUuid } from '@runledger/contracts/ids';
import { untilAborted } from '@runledger/resilience/abort';
import { cancelled, failed, type Executed } from '../model-server/executed.ts';
import { countOomKills, recentOomKills } from '../../runners/output/program-error.ts';
import type { RunObserver, RunnerWork } from '../../runners/runner.ts';
import type { ExtraData } from './core/extra-data.ts';
import { inRunFolder, runFolder } from './core/run-folder.ts';
import { unreadInput, type Witnesses } from './core/witnesses.ts';
import type { ComfyWorkflow } from './core/workflow.ts';
import type { FetchedInputs } from './prompt/fetched-inputs.ts';
import { followPrompt, stopPrompt, type Followed, type FollowLimits } from './prompt/follow-prompt.ts';
import { graceAfter } from './prompt/grace.ts';
import { hearPrompt, type HeardPrompt } from './prompt/heard-prompt.ts';
import { serverError } from './prompt/server-error.ts';
import { sendPrompt, type NewPrompt } from './prompt/send-prompt.ts';
import { resultOfEnd } from './prompt-result.ts';
import type { ComfyLease } from './server/comfy-server.ts';

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
