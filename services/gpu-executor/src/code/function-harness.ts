export interface Harness {
  /** Their texts, by their names. */
  readonly files: Readonly<Record<string, string>>;
  /** `python` or `node`, and its arguments, in which `{harness}` stands for the folder with the files. */
  readonly command: readonly string[];
}

/** What calls a function such as `predict.py:predict` for each run, in a process that stays. */
export const harnessFiles = (run: string): Harness => ({
  files: { 'main.py': `raise SystemExit("no harness for ${run.replaceAll(/[^\w.:/-]/g, '')}")\n` },
  command: ['python', '{harness}/main.py', run],
});
