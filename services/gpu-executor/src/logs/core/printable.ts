/** Without terminal colours and other control characters: people read the text in JSON, HTML or a terminal. */
export const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- these are what is removed
  text.replaceAll(/\u001B\[[0-9;?]*[A-Za-z]/g, '').replaceAll(/[^\P{Cc}\n\t]/gu, '');
