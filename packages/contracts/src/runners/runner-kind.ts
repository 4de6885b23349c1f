import type { Static, TObject } from 'typebox';

/**
 * A kind of runner that a machine can choose: everything that the services and the CLI know about it. Each kind has a file in
 * this folder and a line in `runner-kinds.ts`.
 */
export interface RunnerKind<Choice extends TObject, Runner extends TObject> extends RunnerRules<
  Static<Choice>,
  Static<Runner>
> {
  /** A machine's choice in events and catalogue records. */
  readonly choice: Choice;
  /** The choice in requests and responses of the HTTP API. */
  readonly runner: Runner;
}

export interface RunnerRules<Choice, Runner> {
  /** The choice of a request. Equal choices give equal JSON. */
  choiceOf(runner: Runner): Choice;
  /**
   * What an executor must have among its registered `programs` to execute such runs: the name of a program, or for other kinds
   * `runner:<kind>` or `runner:<kind>:<name>`, since the name of a program has no colon.
   */
  capability(choice: Choice): string;
  /** In lists: "program render". */
  label(runner: Runner): string;
  /** Follows "no executor that has one": "offers program render". `shorten` keeps a name within the limit of the sentence. */
  offers(choice: Choice, shorten: (name: string) => string): string;
  /** Follows "an executor that": "has the program "render" in EXECUTOR_PROGRAMS". */
  requirement(choice: Choice): string;
  /** The setting of the executor that gives it the capability. */
  readonly setting: string;
}
