import { executorName, type ExecutorId } from '@runledger/contracts/ids';
import type { RedriveResponse } from '@runledger/contracts/requests/redrive';
import { parseLifecycleSubject } from '@runledger/contracts/subjects/run-subjects';
import { respondToRedrives, refused, refusedAsMissing, taken } from '@runledger/request-reply/redrive';
import { lastOfSubjects } from '@runledger/event-log/read/direct-read';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Executor } from '../attempt/executor.ts';

/**
 * Takes messages again that this executor parked, until it is disposed of. It may read by its own subjects only, and each
 * fact has one. What the run has left behind meanwhile does no harm: what is told of it then is refused by the log.
 */
export const redriveAddressed = (
  log: EventLog,
  id: ExecutorId,
  executor: Pick<Executor, 'handle'>,
): Disposable =>
  respondToRedrives(log, `executor.${executorName(id)}`, async (question): Promise<RedriveResponse> => {
    const { stream, sequence, subject } = question;
    const about =
      subject === undefined || /[*>\s]/.test(subject) ? undefined : parseLifecycleSubject(subject);
    if (stream !== 'RUNS' || subject === undefined || !about) {
      return refused(
        'An executor takes facts of runs again, and has to be told the subject as it was parked.',
      );
    }
    if (about.executor_id !== id) {
      return refused(
        `It is addressed to ${about.executor_id ?? 'no executor'}, and this is ${id}. ` +
          'That process is gone; the scheduler begins its runs again.',
      );
    }
    const [stored] = await lastOfSubjects(log, [subject]);
    if (stored?.sequence !== sequence) return refusedAsMissing(question);
    const handled = executor.handle(stored);
    switch (handled.kind) {
      case 'taken':
        return taken(`The executor ${id} has taken it.`);
      case 'no_fact':
        return refused(`It is still refused: ${handled.why}.`);
    }
  });
