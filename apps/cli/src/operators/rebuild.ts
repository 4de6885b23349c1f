import { setTimeout as pause } from 'node:timers/promises';
import { counted } from '@runledger/contracts/events/fact-sentence';
import type {
  RebuildComparison,
  RebuildViewsRequest,
  RebuildViewsResponse,
} from '@runledger/contracts/requests/operator-requests';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { requestRebuild } from '@runledger/request-reply/rebuild-views';
import type { Operator } from '../command/command-context.ts';
import { CommandError, EXIT, type ExitCode, plain } from '../command/command-error.ts';

export interface RebuildOptions {
  readonly acceptDifferences?: boolean;
  readonly stop?: boolean;
}

const RESPONSE_WITHIN_MS = 5_000;
const LOOK_EVERY_MS = 500;
/** Another gateway takes over within seconds, and goes on. */
const TRIES = 12;
const RETRY_AFTER_MS = 2_500;

/** Has the views built again from the log, beside the live ones, and waits for the end. The gateway goes on without this command. */
export const rebuild = async (operator: Operator, options: RebuildOptions): Promise<ExitCode> => {
  const { log, screen, record } = operator;
  if (options.stop) {
    const stopped = await ask(log, { action: 'stop' });
    screen.result(stopped, () => 'Nothing is being built. The live views are as they were.');
    return EXIT.done;
  }
  const target = { kind: 'views', id: null };
  return record({ action: 'views.rebuilt', org_id: null, target }, () => follow(operator, options));
};

const follow = async (
  { log, screen }: Operator,
  { acceptDifferences = false }: RebuildOptions,
): Promise<ExitCode> => {
  const json = screen.isJson();
  const begun = await ask(log, { action: 'start', accept_differences: acceptDifferences });
  let state = begun;
  while (isUnderWay(state)) {
    if (!json) screen.redraw(progressOf(state));
    await pause(LOOK_EVERY_MS);
    state = await ask(log, { action: 'state' });
  }
  if (json) screen.printJson(state);
  // A gateway that was killed behind the replacement does not know of it any more.
  const isReplaced = state.state === 'replaced' || state.derivation > begun.derivation;
  if (isReplaced) {
    if (!json)
      screen.print(`The views were built again from the log, and are in place. ${seen(state)}`.trimEnd());
    return EXIT.done;
  }
  const { comparison, why = 'a gateway ended, and nothing is being built' } = state;
  if (state.state !== 'different' || !comparison)
    throw new CommandError(`The views were not built again: ${plain(why)}. The live ones are as they were.`);
  if (!json) {
    for (const { run_id, why: how } of comparison.examples) screen.print(`Run ${run_id}: ${plain(how)}.`);
    screen.hint(`${seen(state)} The new views are complete, and wait. If the live ones are what is wrong, put the new ones in place:
  runledger rebuild --accept-differences`);
  }
  return EXIT.negative;
};

const isUnderWay = ({ state }: RebuildViewsResponse): boolean =>
  ['copying', 'folding', 'comparing', 'finishing'].includes(state);

/** @throws {CommandError} */
const ask = async (log: EventLog, request: RebuildViewsRequest): Promise<RebuildViewsResponse> => {
  for (let tries = 1; ; tries += 1) {
    const response = await requestRebuild(log, request, RESPONSE_WITHIN_MS);
    if (response) return response;
    if (tries === TRIES)
      throw new CommandError(
        'No gateway that keeps the views responds. Start one of this release; what was being built is kept, and it goes on with it.',
      );
    await pause(RETRY_AFTER_MS);
  }
};

const progressOf = ({ state, done = 0, of, seconds = 0 }: RebuildViewsResponse): string => {
  switch (state) {
    case 'copying':
      return `copying the views of runs that the log has lost: ${done}`;
    case 'folding':
      return `folding the log: message ${done} of ${of ?? done}, after ${Math.round(seconds)} s`;
    case 'comparing':
      return `comparing with the live views: ${counted(done, 'run')}`;
    case 'finishing':
    case 'none':
    case 'different':
    case 'replaced':
    case 'failed':
      return 'putting the new views in place';
  }
};

const seen = ({ comparison }: RebuildViewsResponse): string =>
  comparison === undefined ? '' : `${comparedOf(comparison)} ${digestsOf(comparison)}`;

const comparedOf = ({ runs, sequence, compared_at_end, differences }: RebuildComparison): string => {
  const compared = `${counted(runs, 'run')} compared up to position ${sequence}, and ${counted(compared_at_end, 'run')} that went on meanwhile`;
  return `${compared}: ${differences === 0 ? 'no difference' : counted(differences, 'difference')}.`;
};

const digestsOf = ({ live_sha256, new_sha256 }: RebuildComparison): string =>
  live_sha256 === new_sha256
    ? `SHA-256 of both: ${live_sha256}.`
    : `SHA-256 of the live views: ${live_sha256}, of the new ones: ${new_sha256}.`;
