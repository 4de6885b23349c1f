import { rowLines } from '../command/table.ts';
import { RunWaiting, type Waiting } from '@runledger/contracts/http/queues';
import { at } from '../api/api-call.ts';
import type { Client } from '../command/command-context.ts';
import { counted } from '@runledger/contracts/events/fact-sentence';
import { plain } from '../command/command-error.ts';

/** Explains why a run waits, and what would help. */
export const why = async ({ call, screen }: Client, run: string): Promise<void> => {
  const answer = await call(RunWaiting, { method: 'GET', path: at`/run/${run}/waiting` });
  screen.result(answer, ({ run_id, status, waiting }) =>
    waiting === null
      ? `Run ${run_id} is not waiting. Its status is ${plain(status)}. See more with: runledger get ${run_id}`
      : rowLines(screen, [
          ['run', run_id],
          ['why', waiting.sentence],
          ['for', durationWords(waiting.for_s)],
          ['ahead of it', waiting.not_before === null ? counted(waiting.ahead, 'run') : null],
          ['starts', waiting.eta_sentence],
          ['executors', executorWords(waiting)],
          ['given up', `at ${waiting.gives_up_at}, if it has not started by then`],
          ['next', nextStep(waiting)],
        ]),
  );
};

const executorWords = ({ gpu, executors }: Waiting): string => {
  const { serving, busy_slots, free_slots, draining } = executors;
  const slots = `${counted(busy_slots, `${gpu} slot`)} busy and ${free_slots} free`;
  return `${serving} can run it, with ${slots}; ${draining} more ${draining === 1 ? 'is' : 'are'} draining`;
};

/** What would help. */
const nextStep = ({ reason, gpu, ahead }: Waiting): string => {
  switch (reason) {
    case 'busy':
      return ahead === 0
        ? 'it starts when a slot becomes free'
        : 'it starts in turn; another executor would start it sooner';
    case 'warm':
      return 'it starts when such a slot is free, or on any other one after the warm_wait_s of its deployment';
    case 'organisation_limit':
      return 'it starts when another run of your organisation ends; an operator can raise the limit';
    case 'concurrency_limit':
      return 'it starts when another run of its deployment ends; a new limit (runledger deployments update) counts for runs that are queued later';
    case 'concurrency_key':
      return 'it starts when the other run with its concurrency key ends: one executes at a time';
    case 'delayed':
      return 'it waits for a slot from that time on; runledger cancel RUN cancels it at once';
    case 'retrying':
      return 'it tries again by itself; its attempts say what went wrong: runledger get RUN';
    case 'storage_full':
      return 'it starts when runs have ended or old ones have expired; an operator can raise runsMaxBytes';
    case 'draining':
      return 'an operator resumes one of them: runledger executors resume NAME';
    case 'no_gpu':
      return `start an executor with ${gpu} slots (EXECUTOR_GPUS), or queue it for another GPU (--gpu)`;
    case 'not_served':
      return `start an executor with ${gpu} slots that serves its machine (EXECUTOR_MACHINES)`;
    case 'no_runner':
      return (
        'configure one of these executors for its workflow and organisation (EXECUTOR_PROGRAMS, EXECUTOR_COG, EXECUTOR_COMFYUI); ' +
        'in a container, start it from an image that has the program (examples/executor-images/README.md)'
      );
    case 'no_label':
      return 'start one of these executors with the labels of its deployment (EXECUTOR_LABELS), or ask for others: runledger deployments update --label';
  }
};

const MINUTE = 60;
const HOUR = 60 * MINUTE;

/** Such as `45 s`, `12 min` and `3 h 5 min`. */
const durationWords = (seconds: number): string => {
  if (seconds < 2 * MINUTE) return `${Math.floor(seconds)} s`;
  const minutes = Math.floor((seconds % HOUR) / MINUTE);
  return seconds < HOUR ? `${minutes} min` : `${Math.floor(seconds / HOUR)} h ${minutes} min`;
};
