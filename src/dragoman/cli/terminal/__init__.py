"""What a person sees and answers: colours, streams, questions."""
