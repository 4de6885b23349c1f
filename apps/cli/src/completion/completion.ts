import { Argument, type Command } from 'commander';
import { within } from '@runledger/resilience/within';
import {
  type CommandContext,
  connecting,
  type Surroundings,
  type Client,
} from '../command/command-context.ts';
import { EXIT } from '../command/command-error.ts';
import type { Environment } from '../api/connection.ts';
import type { Screen } from '../command/screen.ts';
import { recordCandidates } from './records.ts';
import { wantedAt, type Candidate, type Wanted } from './wanted.ts';

/** `completion` prints a script for a shell, and the script asks `complete` what may come next. */
export const addCompletionCommands = (
  program: Command,
  { screen, end }: CommandContext,
  environment: Surroundings,
): void => {
  program
    .command('completion')
    .description('print a script for a shell that completes commands, options, names and ids')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText('after', HELP)
    .action((shell: Shell) => screen.print(completionScript(shell).trimEnd()));
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: readonly string[]) => {
      const { client } = connecting(environment, () => contextIn(words));
      const isWhole = await complete({ program, client, screen, env: environment.env }, words);
      // What was not answered in time holds up nobody.
      end(isWhole ? EXIT.done : EXIT.notDone);
    });
};

const HELP = `
bash: source <(runledger completion bash)
zsh:  source <(runledger completion zsh)
fish: runledger completion fish | source
Write the line into the file that the shell reads at its start to keep it. Where runledger is
started by npx, write this line before it: alias runledger='npx runledger'`;

/** Whoever presses a key waits for no slow server. */
const ANSWER_WITHIN_MS = 1_000;

interface Completion {
  readonly program: Command;
  readonly client: () => Promise<Client>;
  readonly screen: Screen;
  readonly env: Environment;
}

/** Prints what may come next, as the scripts of the shells read it. False when a server did not answer in time, or refused. */
const complete = async (completion: Completion, words: readonly string[]): Promise<boolean> => {
  const { program, screen } = completion;
  const wanted = wantedAt(program, words);
  if (wanted.kind === 'files') {
    screen.print('files');
    return true;
  }
  const candidates = await candidatesOf(wanted, completion);
  screen.print('words');
  // Candidates of a server come from people.
  for (const { word, note } of candidates ?? []) if (!/[\t\n]/.test(word)) screen.print(`${word}\t${note}`);
  return candidates !== undefined;
};

const candidatesOf = async (
  wanted: Exclude<Wanted, { kind: 'files' }>,
  sources: Completion,
): Promise<readonly Candidate[] | undefined> => {
  if (wanted.kind === 'words') return wanted.candidates;
  try {
    return await within(ANSWER_WITHIN_MS, recordCandidates(sources, wanted), () => {
      throw new Error('The server is too slow.');
    });
  } catch {
    return undefined;
  }
};

/** What `--context` names in the words so far. */
const contextIn = (words: readonly string[]): string | undefined => {
  const at = words.lastIndexOf('--context', -2);
  const assigned = words.slice(0, -1).findLast((word) => word.startsWith('--context='));
  return at === -1 ? assigned?.slice('--context='.length) : words[at + 1];
};

/** The shells that completion knows. */
const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/*
 * `@{` stands for the `${` of a shell. Each script passes the words to `runledger complete`, and evaluates none of them. The answer is a
 * line with `files` or `words`, and then one for each candidate: the whole word, a tab, and a note.
 */

const BASH = String.raw`# Completion of runledger in bash: source <(runledger completion bash)
_runledger() {
  local rest=@{COMP_LINE:0:COMP_POINT} word last=-1 i
  local -a words=() answer=()
  # Bash also divides words at = and : here. Parts without a space between belong together.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    if ((i == 0)) || [[ $rest == [[:space:]]* ]]; then
      rest=@{rest#"@{rest%%[![:space:]]*}"}
      words+=('')
      ((last += 1))
    fi
    word=@{COMP_WORDS[i]}
    ((i == COMP_CWORD)) && word=$rest
    rest=@{rest#"$word"}
    words[last]+=$word
  done
  local whole=@{words[last]} current=$word quote=
  [[ $whole == [\"\']* ]] && quote=1
  words=("@{words[@]//[\"\']/}")
  mapfile -t answer < <(runledger complete -- "@{words[@]:1}" 2>/dev/null)
  COMPREPLY=()
  if [[ @{answer[0]} == files ]]; then
    compopt -o default
    return
  fi
  # Only what follows the last = or : is replaced.
  [[ $current == [=:] ]] && current=
  local cut=$((@{#whole} - @{#current}))
  for word in "@{answer[@]:1}"; do
    word=@{word%%$'\t'*}
    word=@{word:cut}
    [[ -n $quote ]] || printf -v word %q "$word"
    COMPREPLY+=("$word")
  done
}
complete -F _runledger runledger
`;

const ZSH = String.raw`#compdef runledger
# Completion of runledger in zsh: source <(runledger completion zsh)
_runledger() {
  local -a answer values shown
  local line
  answer=("@{(@f)$(runledger complete -- "@{(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $answer[1] == files ]]; then
    compset -P '--*='
    _files
    return
  fi
  for line in "@{(@)answer[2,-1]}"; do
    [[ -n $line ]] || continue
    values+=("@{line%%$'\t'*}")
    shown+=("@{line/$'\t'/  }")
  done
  compadd -l -d shown -a values
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _runledger "$@"
else
  compdef _runledger runledger
fi
`;

const FISH = String.raw`# Completion of runledger in fish: runledger completion fish | source
function __runledger_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l answer (runledger complete -- $words[2..-1] "$typed" 2>/dev/null)
    if test "$answer[1]" = files
        __fish_complete_path (string replace -r -- '^--[^=]*=' '' "$typed")
    else if test (count $answer) -gt 1
        printf '%s\n' $answer[2..-1]
    end
end
complete -c runledger -f -a '(__runledger_complete)'
`;

const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

export const completionScript = (shell: Shell): string => SCRIPTS[shell].replaceAll('@{', '${');
