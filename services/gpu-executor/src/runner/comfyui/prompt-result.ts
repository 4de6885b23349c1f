import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { cancelled, failed, succeeded, type Executed } from '../model-server/executed.ts';
import type { RunnerWork } from '../runner.ts';
import type { PromptEnd } from './core/history-entry.ts';
import { nodeError } from './core/prompt-error.ts';
import { runFolder } from './core/run-folder.ts';
import { fetchOutputs } from './prompt/fetch-outputs.ts';
import type { NewPrompt } from './prompt/send-prompt.ts';
import type { ComfyLease } from './server/comfy-server.ts';

interface EndedPrompt {
  readonly lease: ComfyLease;
  readonly work: RunnerWork;
  readonly prompt: NewPrompt;
  readonly end: PromptEnd;
}

/** Fetches what a prompt made, and removes its entry: the server keeps 10,000 of them in memory. */
export const resultOfEnd = async (
  { lease, work, prompt, end }: EndedPrompt,
  signal: AbortSignal,
): Promise<Executed> => {
  const folder = runFolder(work.run_id, work.attempt);
  const fetched = await fetchOutputs(lease.api, end.outputs, { outputDir: work.outputDir, folder }, signal);
  await lease.api.post('history', { delete: [prompt.prompt_id] });
  if (signal.aborted) return { result: await cancelled(work, false), isUsable: true };
  const error = errorOfEnd(end, prompt) ?? fetched.error;
  if (error !== null) return failed(work, error, { isUsable: true });
  return succeeded(work, fetched.data);
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
