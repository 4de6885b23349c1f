import { resolve } from 'node:path';
import { counted } from '@runledger/contracts/events/fact-sentence';
import type { Difference, Decided, Verdict } from '@runledger/replay/verdict';
import { shadowSlice, type Compared } from '@runledger/replay/shadow';
import { InvalidSlice } from '@runledger/contracts/slices/read-slice';
import { UnusableSlice, type PlayOptions } from '@runledger/replay/play-slice';
import { readSchedulerSettings } from '@runledger/replay/settings';
import { NewerFact } from '@runledger/replay/slice';
import { ConfigError } from '@runledger/service-kit/config';
import { CommandError, EXIT, type ExitCode, plain } from '../command/command-error.ts';
import type { Environment } from '../api/connection.ts';
import { secondsOf } from '../command/option-values.ts';
import type { Screen } from '../command/screen.ts';

/** Plays a slice as fast as it goes, and prints each decision that differs from the recorded one. @throws {CommandError} */
export const shadow = async (context: ReplayContext, slice: string, tolerance: string): Promise<ExitCode> => {
  const { screen } = context;
  const played = playOptions(context, slice, tolerance);
  const onDifference = (difference: Difference): void => screen.result(difference, describeVerdict);
  const compared = await shadowSlice(played, onDifference).catch(asCommandError);
  const summary = summaryOf(compared);
  if (screen.isJson())
    screen.printJson({ ...compared, notCompared: Object.fromEntries(compared.notCompared) });
  else for (const line of summary) screen.hint(line);
  if (compared.compared === 0)
    throw new CommandError(
      `No decision of the scheduler was compared: the slice holds none from ${compared.from} on. Capture a time in which runs were assigned.`,
    );
  return compared.differences === 0 ? EXIT.done : EXIT.negative;
};

const summaryOf = ({ compared, differences, notCompared, assumptions, facts }: Compared): string[] => [
  `Assumed, as the slice does not say it:`,
  ...assumptions.map((one) => `  ${one}`),
  ...[...notCompared].map(([why, n]) => `Not compared: ${counted(n, 'decision')}, because ${why}.`),
  `${counted(facts, 'fact')} played, ${counted(compared, 'decision')} compared: ${differences === 0 ? 'no difference' : counted(differences, 'difference')}.`,
];

/** A decision beside the recorded one, in lines. */
export const describeVerdict = (verdict: Verdict): string[] => {
  const recorded = 'recorded' in verdict ? verdict.recorded : undefined;
  const now = 'now' in verdict ? verdict.now : undefined;
  const about = verdict.run_id === undefined ? `executor ${verdict.executor_id}` : `run ${verdict.run_id}`;
  const at = recorded ? `position ${recorded.position} of ${recorded.stream}, ` : '';
  return [
    `${at}${recorded?.time ?? now?.time ?? ''}, ${about}: scheduler ${KINDS[verdict.kind]}`,
    `  recorded  ${recorded ? textOf(recorded) : 'nothing'}`,
    `  now       ${now ? textOf(now) : 'nothing'}`,
    ...whyOf(verdict),
  ];
};

const KINDS: Readonly<Record<Verdict['kind'], string>> = {
  equal: 'decides the same',
  different: 'decides something else',
  not_decided: 'does not decide it',
  not_recorded: 'decides what was not recorded',
  not_compared: 'is not compared',
};

const textOf = ({ type, sentence }: Decided): string => `${type}: ${plainSentence(sentence)}`;

/** A slice leaves out texts for people, such as the message at the end of a sentence. */
export const plainSentence = (sentence: string): string => plain(sentence).replace(/:$/, '');

const whyOf = (verdict: Verdict): string[] => {
  switch (verdict.kind) {
    case 'equal':
      return [];
    case 'different':
      return [
        `  differs   ${verdict.differs.map((name) => differenceIn(name, verdict.recorded, verdict.now)).join(', ')}`,
      ];
    case 'not_decided':
    case 'not_recorded':
    case 'not_compared':
      return [`  why       ${verdict.why}`];
  }
};

const differenceIn = (name: string, recorded: Decided, now: Decided): string =>
  name === 'type'
    ? `${recorded.type}, now ${now.type}`
    : `${name} ${valueOf(recorded, name)}, now ${valueOf(now, name)}`;

const valueOf = ({ members }: Decided, name: string): string =>
  plain(JSON.stringify(members[name]) ?? 'nothing');

export interface ReplayContext {
  readonly screen: Screen;
  readonly env: Environment;
  readonly cwd: string;
}

const MAX_TOLERANCE_S = 3_600;

/** What a slice is played with. The settings come from the variables of the scheduler. @throws {CommandError} */
export const playOptions = ({ env, cwd }: ReplayContext, slice: string, tolerance: string): PlayOptions => {
  const toleranceS = secondsOf('--tolerance', tolerance) ?? 0;
  if (toleranceS > MAX_TOLERANCE_S)
    throw new CommandError(`--tolerance ${plain(tolerance)} is more than an hour.`);
  try {
    const settings = readSchedulerSettings(env);
    return { path: resolve(cwd, slice), settings, toleranceMs: toleranceS * 1_000 };
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
};

/** A slice that cannot be played is the caller's to mend. @throws {CommandError} */
export const asCommandError = (error: unknown): never => {
  if (error instanceof InvalidSlice || error instanceof UnusableSlice || error instanceof NewerFact)
    throw new CommandError(error.message, { cause: error });
  throw error;
};
