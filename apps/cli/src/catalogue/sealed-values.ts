import { SealedValuesPage } from '@runledger/contracts/http/sealed-values';
import type { Command } from 'commander';
import { ANSWER_WITHIN_MS, pages, retryForAMinute } from '../api/api-call.ts';
import type { Client, CommandContext } from '../command/command-context.ts';
import { CommandError, EXIT, type ExitCode, plain } from '../command/command-error.ts';
import { counted } from '@runledger/contracts/events/fact-sentence';

/** Commands for operators who change the keys of RUNLEDGER_SECRET_KEYS. */
export const addSealedValueCommands = (program: Command, { withClient, add }: CommandContext): void => {
  const group = program
    .command('sealed-values')
    .description('what is stored encrypted (needs a key with the scope operator, as a standalone has)');
  add(
    group,
    'check',
    'open all, and say whether an older key of RUNLEDGER_SECRET_KEYS is still needed',
  ).action(
    withClient(async (opened) => {
      return report(opened, await inspectAll(opened));
    }),
  );
  add(group, 'reseal', 'seal all with the first key of RUNLEDGER_SECRET_KEYS, and check them').action(
    withClient(resealValues),
  );
};

type Counts = Readonly<Record<'current' | 'resealed' | 'old' | 'unreadable', number>>;

/** What a walk through all values has found. */
interface Found {
  readonly sealing_key: string;
  readonly other_keys: readonly string[];
  /** By kind. */
  readonly counts: ReadonlyMap<string, Counts>;
  readonly unreadable: SealedValuesPage['unreadable'];
}

const resealValues = async (client: Client): Promise<ExitCode> => {
  const { call, screen } = client;
  const before = await inspectAll(client);
  const { sealing_key } = before;
  const request = (cursor: string | undefined) =>
    call(SealedValuesPage, {
      method: 'POST',
      path: '/sealed-values/reseal',
      body: { sealing_key, cursor },
    });
  await walk(client, request, ({ counts }, page) => {
    // What was sealed again comes once more at the end.
    for (const { kind } of page.counts.filter(({ resealed }) => resealed > 0)) {
      const resealed = counts.get(kind)?.resealed ?? 0;
      const left = Math.max(0, (before.counts.get(kind)?.old ?? 0) - resealed);
      screen.result(
        { kind, resealed, left },
        () => `${wordsFor(kind)}: ${resealed} sealed again with the key ${sealing_key}, ${left} left`,
      );
    }
  });
  const after = await inspectAll(client);
  return report(client, after.sealing_key === sealing_key ? after : notAlike(before, after));
};

const inspectAll = (client: Client): Promise<Found> =>
  walk(client, (cursor) =>
    client.call(SealedValuesPage, {
      method: 'GET',
      path: '/sealed-values',
      query: { cursor },
      answerWithinMs: ANSWER_WITHIN_MS,
    }),
  );

/** Sums up all pages. Each request may be repeated. */
const walk = async (
  { screen }: Client,
  request: (cursor: string | undefined) => Promise<SealedValuesPage>,
  onPage: (found: Found, page: SealedValuesPage) => void = () => undefined,
): Promise<Found> => {
  let found: Found | undefined;
  const readNext = (cursor: string | undefined) => retryForAMinute(() => request(cursor), screen);
  for await (const page of pages(readNext)) {
    found =
      found === undefined || found.sealing_key === page.sealing_key
        ? plus(found, page)
        : notAlike(found, page);
    onPage(found, page);
  }
  if (found === undefined) throw new CommandError('The gateway answered without a page. Run this again.');
  return found;
};

const plus = (found: Found | undefined, page: SealedValuesPage): Found => ({
  sealing_key: page.sealing_key,
  other_keys: page.other_keys,
  counts: new Map(
    page.counts.map(({ kind, ...counts }) => [kind, sum(found?.counts.get(kind), counts)] as const),
  ),
  unreadable: [...(found?.unreadable ?? []), ...page.unreadable],
});

/** @throws CommandError */
const notAlike = (one: { readonly sealing_key: string }, other: { readonly sealing_key: string }): never => {
  throw new CommandError(
    `One gateway seals with the key ${one.sealing_key}, and another with ${other.sealing_key}. Put the same key first in RUNLEDGER_SECRET_KEYS of all gateways and notifiers, restart them, and run this again.`,
  );
};

const sum = (one: Counts | undefined, other: Counts): Counts =>
  one === undefined
    ? other
    : {
        current: one.current + other.current,
        resealed: one.resealed + other.resealed,
        old: one.old + other.old,
        unreadable: one.unreadable + other.unreadable,
      };

/** The proof, or what is missing for it. */
const report = ({ screen }: Client, { counts, ...found }: Found): ExitCode => {
  const { sealing_key, other_keys, unreadable } = found;
  const all = [...counts];
  const old = all.reduce((total, [, count]) => total + count.old, 0);
  const current = all.reduce((total, [, count]) => total + count.current, 0);
  const isProven = old === 0 && unreadable.length === 0;
  const proof = `Proof: ${counted(current, 'value')} read, and each opens with the key ${sealing_key}.${removable(other_keys)}`;
  screen.result(
    { ...found, counts: all.map(([kind, count]) => ({ kind, ...count })), proven: isProven },
    () => [
      ...all.map(
        ([kind, count]) =>
          `${wordsFor(kind)}: ${count.current} sealed with the key ${sealing_key}, ${count.old} with an older one, ${count.unreadable} unreadable`,
      ),
      ...unreadable.map(({ kind, id, why }) => `unreadable: ${kind} ${plain(id)}: ${plain(why)}`),
      ...(isProven ? [proof] : []),
    ],
  );
  if (!isProven && !screen.isJson()) screen.hint(advice(old, unreadable.length));
  return isProven ? EXIT.done : EXIT.notDone;
};

const removable = (keys: readonly string[]): string =>
  keys.length === 0
    ? ''
    : ` No other key is needed: remove ${keys.join(', ')} from RUNLEDGER_SECRET_KEYS of all gateways and notifiers.`;

const advice = (old: number, unreadable: number): string =>
  [
    'Keep all keys of RUNLEDGER_SECRET_KEYS.',
    old > 0
      ? 'Check that the same key is the first one at all gateways and notifiers, and run: runledger sealed-values reseal'
      : '',
    unreadable > 0 ? 'Each unreadable value says what to do.' : '',
  ]
    .filter((sentence) => sentence !== '')
    .join(' ');

const wordsFor = (kind: string): string => kind.replaceAll('_', ' ');
