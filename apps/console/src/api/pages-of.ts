/** The pages of an operation, each asked for when the one before has been looked at. */
export async function* pagesOf<Page extends { readonly next_cursor: string | null }>(
  read: (cursor: string | undefined) => Promise<Page>,
): AsyncGenerator<Page> {
  let page = await read(undefined);
  yield page;
  while (page.next_cursor !== null) {
    page = await read(page.next_cursor);
    yield page;
  }
}
