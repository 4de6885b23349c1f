import type { Argument, Command, Option } from 'commander';

/** A word that may come next, and what it is. */
export interface Candidate {
  readonly word: string;
  readonly note: string;
}

/** The records of which one may come next. */
export type RecordWord =
  | 'context'
  | 'deployed version'
  | 'deployment'
  | 'executor'
  | 'key'
  | 'machine'
  | 'run'
  | 'schedule'
  | 'secret'
  | 'version'
  | 'workflow';

/** What may stand where the cursor is. */
export type Wanted =
  | { readonly kind: 'words'; readonly candidates: readonly Candidate[] }
  | { readonly kind: 'files' }
  | {
      readonly kind: 'records';
      readonly what: RecordWord;
      /** What is typed of it, and what stands before it in the same word, such as `--deployment=`. */
      readonly typed: string;
      readonly prefix: string;
      /** The arguments before it. */
      readonly given: readonly string[];
    };

const RECORDS: ReadonlySet<string> = new Set<RecordWord>([
  'context',
  'deployment',
  'executor',
  'key',
  'machine',
  'run',
  'schedule',
  'secret',
  'version',
  'workflow',
]);
/** How options and arguments name a file or a folder. */
const FILES: ReadonlySet<string> = new Set(['file', 'folder', 'path', 'slice']);
/** Options whose value is one of a kind of records. Of others the name says something else. */
const RECORD_OPTIONS: ReadonlyMap<string, RecordWord> = new Map([
  ['--context', 'context'],
  ['--deployment', 'deployment'],
  ['--machine', 'machine'],
  ['--schedule', 'schedule'],
  ['--workflow', 'workflow'],
]);

/** What may come next on a command line: `words` are those behind the name of the program, the last one as far as it is typed. */
export const wantedAt = (program: Command, words: readonly string[]): Wanted => {
  const typed = words.at(-1) ?? '';
  const { command, given, awaiting } = placeAfter(program, words.slice(0, -1));
  if (awaiting !== undefined) return valueOf(command, awaiting, { typed, prefix: '', given });
  const [, flag, value] = /^(--[^=]+)=(.*)$/s.exec(typed) ?? [];
  const assigned = flag === undefined ? undefined : optionNamed(command, flag);
  if (assigned !== undefined)
    return valueOf(command, assigned, { typed: value ?? '', prefix: `${flag}=`, given });
  if (typed.startsWith('-')) return matching(optionsOf(command), typed);
  const argument = argumentAt(command, given.length);
  const subcommands = given.length === 0 ? subcommandsOf(command) : [];
  if (argument === undefined || subcommands.some(({ word }) => typed !== '' && word.startsWith(typed)))
    return matching(subcommands, typed);
  return argumentOf(command, argument, { typed, prefix: '', given });
};

interface Place {
  readonly command: Command;
  /** Its arguments so far. */
  readonly given: readonly string[];
  /** The option whose value comes next. */
  readonly awaiting: Option | undefined;
}

const placeAfter = (program: Command, words: readonly string[]): Place => {
  let [command, awaiting] = [program, undefined as Option | undefined];
  const given: string[] = [];
  for (const word of words) {
    if (awaiting !== undefined) awaiting = undefined;
    else if (/^-./.test(word)) {
      const option = optionNamed(command, word);
      if (option?.required) awaiting = option;
    } else {
      const next = given.length === 0 ? command.commands.find((one) => one.name() === word) : undefined;
      if (next === undefined) given.push(word);
      else command = next;
    }
  }
  return { command, given, awaiting };
};

/** Also an option of the groups that a command is in. */
const optionNamed = (command: Command | null, flag: string): Option | undefined =>
  command === null
    ? undefined
    : (command.options.find(({ long, short }) => long === flag || short === flag) ??
      optionNamed(command.parent, flag));

type Typed = Pick<Extract<Wanted, { kind: 'records' }>, 'typed' | 'prefix' | 'given'>;

const NOTHING: Wanted = { kind: 'words', candidates: [] };

const valueOf = (command: Command, { long, flags, argChoices }: Option, at: Typed): Wanted => {
  if (argChoices !== undefined) return choices(argChoices, at);
  const [, name = ''] = /[<[]([^\]>]+)/.exec(flags) ?? [];
  if (FILES.has(name) || long === '--inputs') return { kind: 'files' };
  const what =
    long === '--key' && command.parent?.name() === 'audit' ? 'key' : RECORD_OPTIONS.get(long ?? '');
  return what === undefined || usesBroker(command) ? NOTHING : { kind: 'records', what, ...at };
};

const argumentOf = (command: Command, argument: Argument, at: Typed): Wanted => {
  if (argument.argChoices !== undefined) return choices(argument.argChoices, at);
  const name = argument.name();
  if (FILES.has(name)) return { kind: 'files' };
  if (!isRecordWord(name) || usesBroker(command)) return NOTHING;
  const ofDeployment = name === 'version' && command.registeredArguments[0]?.name() === 'deployment';
  return { kind: 'records', what: ofDeployment ? 'deployed version' : name, ...at };
};

const isRecordWord = (name: string): name is RecordWord => RECORDS.has(name);

/** Such a command takes ids of another installation, perhaps. */
const usesBroker = (command: Command): boolean => command.description().endsWith('(operator)');

const choices = (words: readonly string[], { typed, prefix }: Typed): Wanted => {
  // Several with commas, as --status takes them.
  const before = typed.slice(0, typed.lastIndexOf(',') + 1);
  return matching(
    words.map((word) => ({ word: `${prefix}${before}${word}`, note: '' })),
    `${prefix}${typed}`,
  );
};

const matching = (candidates: readonly Candidate[], typed: string): Wanted => ({
  kind: 'words',
  candidates: candidates.filter(({ word }) => word.startsWith(typed)),
});

const subcommandsOf = (command: Command): Candidate[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .map((one) => ({ word: one.name(), note: one.description() }));

/** Of the command and its groups, and what each command takes. */
const optionsOf = (command: Command): Candidate[] => {
  const all: Candidate[] = [];
  for (let one: Command | null = command; one !== null; one = one.parent) {
    if (one.parent === null && one !== command) break;
    for (const { long, description } of one.createHelp().visibleOptions(one))
      if (long) all.push({ word: long, note: description });
  }
  all.push({ word: '--context', note: 'the server to use' });
  return [...new Map(all.map((option) => [option.word, option])).values()];
};

const argumentAt = (command: Command, index: number): Argument | undefined => {
  const all = command.registeredArguments;
  const last = all.at(-1);
  return all[index] ?? (last?.variadic ? last : undefined);
};
