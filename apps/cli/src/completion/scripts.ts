/** The shells that completion knows. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
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
