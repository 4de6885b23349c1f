/** What a person chose to see; without a choice the page follows the system. */
export type Theme = 'light' | 'dark' | 'system';

const STORED = 'runledger-theme';

export const storedTheme = (): Theme => {
  const stored = localStorage.getItem(STORED);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
};

export const chooseTheme = (theme: Theme): void => {
  if (theme === 'system') localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, theme);
  show(theme);
};

const show = (theme: Theme): void => {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
};

/** Shows the stored choice, and what another tab chooses. */
export const followTheme = (): void => {
  show(storedTheme());
  window.addEventListener('storage', ({ key }) => {
    if (key === STORED) show(storedTheme());
  });
};
