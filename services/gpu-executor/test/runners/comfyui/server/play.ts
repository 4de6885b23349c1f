/** What a node of the test server does, one step after the other. Its workflow has the steps in the input `steps`. */
export type Step =
  | { readonly progress: number; readonly max?: number }
  | { readonly text: Readonly<Record<string, readonly unknown[]>> }
  | { readonly file: string; readonly content: string }
  /** A file in the output folder of the server that the node does not name, or into which it names nothing: with an empty content. */
  | { readonly unnamed: string; readonly content: string }
  /** The picture or file that the node is given, as the file of that name: as its public class reads it. */
  | { readonly copy: string }
  /** A line of text, to the clients or to its own output. */
  | { readonly say: string }
  | { readonly print: string }
  | { readonly fail: string }
  | { readonly wait: 'for an interrupt' | 'for ever' | number }
  /** Bytes of messages. */
  | { readonly flood: number }
  /** The process ends. */
  | { readonly crash: true }
  /** A message as it was recorded. */
  | { readonly raw: string | Uint8Array }
  /** The thread that executes workflows ends. */
  | { readonly die: true };

/** A workflow of one node. */
export const playing = (
  steps: readonly Step[],
  inputs: Readonly<Record<string, unknown>> = {},
  { title = 'Play', class_type = 'SaveImage' } = {},
): Record<string, unknown> => ({
  '1': { class_type, inputs: { steps, ...inputs }, _meta: { title } },
});
