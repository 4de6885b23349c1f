/** For the test, which is TypeScript. */
export interface ReadFiles {
  readonly testsIn: (workspace: string) => readonly string[];
  readonly text: (file: string) => string;
}

export const nearestTests: (changed: readonly string[], read: ReadFiles) => readonly string[];
