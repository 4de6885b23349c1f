import { counted } from '@runledger/contracts/counted';
import type { Difference } from '@runledger/replay/decisions/verdict';
import { shadowSlice, type Compared } from '@runledger/replay/shadow';
import { CommandError, EXIT, type ExitCode } from '../output/command-error.ts';
import { describeVerdict } from './describe-verdict.ts';
import { asCommandError, playOptions, type ReplayContext, type PlayedOptions } from './play-options.ts';

export type ShadowOptions = PlayedOptions;

/** Plays a slice as fast as it goes, and prints each decision that differs from the recorded one. @throws {CommandError} */
export const shadow = async (
  context: ReplayContext,
  slice: string,
  options: ShadowOptions,
): Promise<ExitCode> => {
  const { screen } = context;
  const { json = false } = options;
  const played = playOptions(context, slice, options);
  const onDifference = (difference: Difference): void => {
    if (json) screen.printJson(difference);
    else for (const line of describeVerdict(difference)) screen.print(line);
  };
  const compared = await shadowSlice(played, onDifference).catch(asCommandError);
  const summary = summaryOf(compared);
  if (json) screen.printJson({ ...compared, notCompared: Object.fromEntries(compared.notCompared) });
  else for (const line of summary) screen.hint(line);
  if (compared.compared === 0)
    throw new CommandError(
      `No decision of ${played.services.join(' or ')} was compared: the slice holds none from ${compared.from} on. Capture a time in which runs were assigned, or ended with a webhook.`,
    );
  return compared.differences === 0 ? EXIT.done : EXIT.negative;
};

const summaryOf = ({ compared, differences, notCompared, assumptions, facts }: Compared): string[] => [
  `Assumed, as the slice does not say it:`,
  ...assumptions.map((one) => `  ${one}`),
  ...[...notCompared].map(([why, n]) => `Not compared: ${counted(n, 'decision')}, because ${why}.`),
  `${counted(facts, 'fact')} played, ${counted(compared, 'decision')} compared: ${differences === 0 ? 'no difference' : counted(differences, 'difference')}.`,
];
