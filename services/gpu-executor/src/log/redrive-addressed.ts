import { executorName, type ExecutorId } from '@runledger/contracts/ids';
import type { RedriveResponse } from '@runledger/contracts/requests/redrive';
import { parseLifecycleSubject } from '@runledger/contracts/subjects/run-subjects';
import { respondToRedrives, refused, refusedAsMissing, taken } from '@runledger/request-reply/redrive';
import { lastOfSubjects } from '@runledger/event-log/messages/direct-read';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Executor } from '../attempt/executor.ts';

/**
 * Redrives the dead letters of this executor on request, until it is disposed of. It may read its own subjects only, and
 * each fact has a subject of its own. An outdated fact does no harm: the log refuses the appends that follow it.
 */
export const redriveAddressed = (
  log: EventLog,
  id: ExecutorId,
  executor: Pick<Executor, 'handle'>,
): Disposable =>
  respondToRedrives(log, `executor.${executorName(id)}`, async (request): Promise<RedriveResponse> => {
    const { stream, sequence, subject } = request;
    const about =
      subject === undefined || /[*>\s]/.test(subject) ? undefined : parseLifecycleSubject(subject);
    if (stream !== 'RUNS' || subject === undefined || !about) {
      return refused('An executor redrives facts of runs only, and needs the subject of the dead letter.');
    }
    if (about.executor_id !== id) {
      return refused(
        `It is addressed to ${about.executor_id ?? 'no executor'}, and this is ${id}. ` +
          'That process has ended; the scheduler requeues its runs.',
      );
    }
    const [stored] = await lastOfSubjects(log, [subject]);
    if (stored?.sequence !== sequence) return refusedAsMissing(request);
    const handled = executor.handle(stored);
    switch (handled.kind) {
      case 'taken':
        return taken(`Executor ${id} has taken it.`);
      case 'no_fact':
        return refused(`It is still refused: ${handled.why}.`);
    }
  });
