import type { CheckedSegment } from '@runledger/contracts/requests/archive-check';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { requestArchiveCheck } from '@runledger/request-reply/archive-check';
import { CommandError } from '../../output/command-error.ts';

/** A segment is read as a whole, and its range of the log too. */
const RESPONSE_WITHIN_MS = 120_000;

/** Every segment of the archive, as a gateway finds it. @throws {CommandError} when no gateway responds */
export async function* checkedSegments(log: EventLog): AsyncGenerator<CheckedSegment> {
  for (let behind = 0; ;) {
    const response = await requestArchiveCheck(log, { behind, compare: true }, RESPONSE_WITHIN_MS);
    if (!response)
      throw new CommandError(
        'No gateway checks the archive: start one of this release, with RUNLEDGER_ARCHIVE other than none. Without --archive the log is verified alone.',
      );
    if (!response.segment) return;
    yield response.segment;
    behind = response.segment.revision;
  }
}
