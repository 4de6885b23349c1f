import type { SubmitEvent } from 'react';

/** What a person entered into a form: the texts of its fields by their names. The browser itself sends nothing. */
export const submitted = (event: SubmitEvent<HTMLFormElement>): ((name: string) => string) => {
  event.preventDefault();
  const form = new FormData(event.currentTarget);
  return (name) => {
    const value = form.get(name);
    return typeof value === 'string' ? value : '';
  };
};
