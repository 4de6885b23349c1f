import { CommandError } from '../output/command-error.ts';

/** Counting changes nothing, so it may end before all are counted. */
export const MOST_PAGES_COUNTED = 100;

/** Page after page, at most so many. @throws Explained when the service goes round in circles */
export const pages = async function* <Page extends { readonly next_cursor: string | null }>(
  readPage: (cursor: string | undefined) => Promise<Page>,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<Page> {
  let cursor: string | undefined;
  for (let read = 0; read < most; read += 1) {
    const page = await readPage(cursor);
    yield page;
    if (page.next_cursor === null) return;
    if (page.next_cursor === cursor)
      throw new CommandError(
        'The service gave the same page again. What it gave so far counts. Use the same release of both.',
      );
    cursor = page.next_cursor;
  }
};
