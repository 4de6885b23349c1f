import { CommandError } from '../output/command-error.ts';

/** A count changes nothing, so that it may stop early. */
export const MAX_PAGES_COUNTED = 100;

/** Reads page after page, up to a limit. @throws CommandError if the service repeats a page */
export const pages = async function* <Page extends { readonly next_cursor: string | null }>(
  readPage: (cursor: string | undefined) => Promise<Page>,
  maxPages = Number.POSITIVE_INFINITY,
): AsyncGenerator<Page> {
  let cursor: string | undefined;
  for (let read = 0; read < maxPages; read += 1) {
    const page = await readPage(cursor);
    yield page;
    if (page.next_cursor === null) return;
    if (page.next_cursor === cursor)
      throw new CommandError(
        'The service returned the same page again. The results so far are valid. Use the same release of the command and the service.',
      );
    cursor = page.next_cursor;
  }
};
