import type { Limit } from '@runledger/contracts/requests/queue-position';
import type { ExecutingRun, QueuedRun } from '@runledger/contracts/fold/run';
import { uploadTimeoutS } from '@runledger/contracts/limits';
import { runnerKindOf } from '@runledger/contracts/catalogue/runners';
import { allRequirements, type Requirements } from './requirements.ts';

/** Messages for people about the decisions: what happened, and what they can do. */

export const ranTooLong = ({ request, attempt }: ExecutingRun): string =>
  `The run executed for more than its time limit of ${request.run_timeout_s} s on ${attempt.executor_id}, which did not end it. ` +
  'The log of that executor says why. If the run needs more, queue it with a longer run_timeout_s, or give the deployment one.';

export const storedTooLong = ({ output_bytes, attempt }: ExecutingRun): string =>
  `${attempt.executor_id} did not store the ${output_bytes} bytes of output files within the ${uploadTimeoutS(output_bytes)} s that it may take. ` +
  'The log of that executor says why the gateway did not take them. Queue the run again when it does, or leave smaller files.';

export const waitedTooLong = (deadlineS: number, requirements: Requirements): string =>
  `No ${modelsIn(requirements)} slot became free within the start deadline of ${deadlineS} s. ` +
  'Queue it again when the queue is shorter, or start more executors.';

export const waitedAtLimit = ({ request }: QueuedRun, limit: Limit): string => {
  const deadline = `its start deadline of ${request.start_deadline_s} s`;
  switch (limit) {
    case 'organisation_limit':
      return (
        `Its organisation held as many slots as RUNLEDGER_ORG_LIMITS allows until ${deadline}. ` +
        'Queue it again when other runs have ended, or raise the deadline of the deployment. An operator can raise the limit.'
      );
    case 'concurrency_limit':
      return (
        `As many runs of its deployment executed as its concurrency_limit of ${request.concurrency_limit ?? 1} allows, until ` +
        `${deadline}. Raise the limit or the deadline of the deployment, and queue it again.`
      );
    case 'concurrency_key':
      return (
        `Other runs with the same concurrency_key executed until ${deadline}: one does at a time. ` +
        'Queue it again when they have ended, or raise the deadline of the deployment.'
      );
  }
};

export const neverBegan = ({ request, attempt }: ExecutingRun): string =>
  `The run was assigned to ${attempt.executor_id}, which neither began it within the start deadline of ` +
  `${request.start_deadline_s} s nor ended it. The log of that executor says why.`;

export const noCapacityFor = ({ request }: QueuedRun): string =>
  `The log of runs had no room for an attempt within the start deadline of ${request.start_deadline_s} s. ` +
  'Queue it again when runs have ended or old ones have expired. An operator can raise runsMaxBytes in RUNLEDGER_LOG_SETTINGS.';

export const nobodyCan = (requirements: Requirements): string => {
  const { machine_name, runner, labels } = requirements;
  const kind = runnerKindOf(runner);
  const labelled = labels.length > 0;
  return (
    `No registered executor can ever take this run: it needs a ${modelsIn(requirements)} slot of one that serves the machine ` +
    `"${machine_name}"${labelled ? ', ' : ' and '}${kind.requirement(runner)}${labelled ? ` and has ${named(labels)}` : ''}. ` +
    `Start one (EXECUTOR_GPUS, EXECUTOR_MACHINES, ${kind.setting}${labelled ? ', EXECUTOR_LABELS' : ''}), and queue the run again.`
  );
};

/** All GPU models of the run, in words. */
const modelsIn = (requirements: Requirements): string => {
  const models = allRequirements(requirements).map(({ gpu }) => gpu);
  return models.length === 1 ? models.join('') : `${models.slice(0, -1).join(', ')} or ${models.at(-1)}`;
};

const named = (labels: readonly string[]): string =>
  `the label${labels.length > 1 ? 's' : ''} ${labels.join(', ')}`;

/** Why an executor is no longer registered. */
export type RemovalReason = 'executor_lost' | 'executor_left';

const removed = (reason: RemovalReason): string =>
  reason === 'executor_left' ? 'left before the run ended' : 'was lost: it sent no more heartbeats';

export const attemptLost = ({ attempt, request }: ExecutingRun, reason: RemovalReason): string =>
  `Attempt ${attempt.number} of ${request.max_attempts} ended without a result: executor ${attempt.executor_id} ${removed(reason)}. ` +
  'The run is queued again.';

export const allAttemptsLost = ({ attempt, request }: ExecutingRun, reason: RemovalReason): string =>
  `The last of ${request.max_attempts} attempts ended without a result: executor ${attempt.executor_id} ${removed(reason)}. ` +
  "Look at that machine's logs; queue the run again, or give the deployment more attempts.";

export const cancelledWithoutExecutor = ({ attempt }: ExecutingRun, reason: RemovalReason): string =>
  `Executor ${attempt.executor_id} ${removed(reason)}, so no process executes the cancelled run.`;

export const cancelExpired = ({ attempt }: ExecutingRun, enforceS: number): string =>
  `Executor ${attempt.executor_id} did not end the run within ${enforceS} s of the cancel request, so it counts as cancelled.`;

export const unresponsive = (periodS: number): string =>
  `No heartbeat came for ${periodS} s while the scheduler was connected. Its runs are queued again.`;
