/** The tags of a repeated option, which may have commas. */
export const tags = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ...text.split(',').map((tag) => tag.trim()),
];
