import { isViewless, type Isolation, type Withheld } from '../../isolation/isolation.ts';
import { isOfSystem } from '../../isolation/hidden-paths.ts';
import { realPaths } from '../../paths/real-paths.ts';
import { whyNotStartable, whyUnusable, type Seen } from '../../supervision/why-not-started.ts';
import type { ConfiguredEntry } from '../runner-type.ts';
import { foundFor, programView, wrongPaths } from './program-view.ts';

/** What is not shown only because a command or an argument leads there. */
export const withheldFrom = (entries: readonly ConfiguredEntry[], own: readonly string[]): Withheld => ({
  own: realPaths(own),
  written: realPaths(entries.flatMap(({ command: { writable = [] } }) => writable)),
});

/** What the programs of entries would miss, found before any run does: a sentence each, with what to do. */
export const checkViews = (
  entries: readonly ConfiguredEntry[],
  isolation: Isolation,
  withheld: Withheld,
): readonly string[] =>
  entries.flatMap(({ name, command }) => {
    const wrong = wrongPaths(command, withheld);
    if (wrong.length > 0) return wrong.map((each) => `${name} cannot run: ${each}`);
    const user = isolation.users.take();
    isolation.users.free(user);
    const view = programView(command, { device: '' }, withheld);
    const unusable = closedTo({ isolation, view, user }, command);
    return [
      ...unusable.map((each) => `${name} cannot run: ${each}`),
      ...(isViewless(isolation) ? [] : notShown(command, withheld)).map(
        (each) => `${name} does not see ${each}`,
      ),
    ];
  });

const closedTo = (
  seen: Seen,
  { command, readable = [], env, path = '' }: ConfiguredEntry['command'],
): string[] => {
  const whys = [
    whyNotStartable(command, env['PATH'] ?? path, seen),
    ...realPaths(readable).map((each) => whyUnusable(each, 'read', seen)),
  ];
  return [...new Set(whys.filter((why) => why !== null))];
};

const notShown = (command: ConfiguredEntry['command'], withheld: Withheld): string[] =>
  foundFor(command, withheld)
    .withheld.filter(({ path }) => !isOfSystem(path, []))
    .map(({ path, why }) => `${path}, because ${why}: name what it needs there as "readable" of its entry`);
