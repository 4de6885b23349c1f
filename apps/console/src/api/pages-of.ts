/** The pages of an operation, at most so many. Each is asked for when the one before has been looked at. */
export async function* pagesOf<Page extends { readonly next_cursor: string | null }>(
  read: (cursor: string | undefined) => Promise<Page>,
  most = Infinity,
): AsyncGenerator<Page> {
  let cursor: string | null | undefined;
  for (let asked = 0; asked < most && cursor !== null; asked += 1) {
    const page = await read(cursor);
    yield page;
    cursor = page.next_cursor;
  }
}
