import { errorMessage } from '@runledger/contracts/events/error-message';
import { errorOf, type AttemptError } from '@runledger/contracts/events/run-error';
import { MAX_ERROR_NAME } from '@runledger/contracts/limits';
import type { ProcessEnd } from '../../../supervision/supervised-process.ts';
import { nodeName } from '../core/prompt-error.ts';
import type { PromptState } from '../core/prompt-state.ts';
import { nodeInWorkflow } from '../core/workflow.ts';
import { endOfServer } from '../../model-server/describe-end.ts';

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
