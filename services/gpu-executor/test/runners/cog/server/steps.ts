/** What a prediction of the test server does, one after the other. */
export type Step =
  | { readonly print: string }
  /** A drawing over the present line. */
  | { readonly draw: string }
  /** The output from now on. */
  | { readonly output: unknown }
  | { readonly fail: string }
  /** The worker crashes; `server`: the whole server. */
  | { readonly crash: 'worker' | 'server' }
  /** `a look`: until its state was asked for once more. */
  | { readonly wait: 'for a look' | 'for a cancel' | 'for ever' }
  /** Prints so many bytes. */
  | { readonly flood: number }
  /** The output is the data URL of an input under another name, without its type. */
  | { readonly copy: string; readonly to: string }
  /** The output is this file or a list of these, which have their names as content. One below `/gone` is not there. */
  | { readonly put: string | readonly string[] }
  /** Writes a file below its temporary folder, and keeps it. */
  | { readonly write: string; readonly content: string }
  /** A child process prints it. */
  | { readonly child: string }
  /** Puts a variable of its environment out as a text. */
  | { readonly environment: string }
  /** Puts its inputs out as a text; the name of a file that came by URL is in the place of its type. */
  | { readonly echo: true };

export const dataUrl = (type: string, content: string): string =>
  `data:${type};base64,${Buffer.from(content).toString('base64')}`;
