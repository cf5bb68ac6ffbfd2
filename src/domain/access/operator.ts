/** An operator's key. It opens `/v1/admin`, and acts in any account. */
export interface Operator {
  id: string;
  name: string;
}

export const operatorKeyPrefix = "ibo_";

/** The request header with the id of the account in which an operator acts. */
export const accountHeader = "x-inboxd-account";
